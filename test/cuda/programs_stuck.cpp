// A driver that never returns from calls of Refrain's own, and a system that refuses such calls, or has no room for
// them.

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "test/cuda/program.h"

using namespace program;

namespace {

constexpr Word kCount = 64;
constexpr int kRounds = 100;

/// Memory of its own, a stream, and a loop of kernels and a fill.
struct Loop {
  Device gpu;
  CUstream stream = make_stream();
  CUfunction step = gpu.function("scale");
  CUdeviceptr x = filled(kCount, 1);
  CUdeviceptr y = filled(kCount, 2);

  void launch(Word kernels) const {
    for (Word i = 0; i < kernels; ++i) {
      scale(stream, step, x, kCount, 3, i);
    }
  }
  void run() const {
    for (int round = 0; round < kRounds; ++round) {
      launch(20);
      CHECK_CU(cuMemsetD32Async(y, 7, kCount, stream));
      CHECK_CU(cuStreamSynchronize(stream));
      usleep(1000);  // graphs are made meanwhile
    }
    print("x", x, kCount);
    print("y", y, kCount);
  }
};

/// The thread that waits for connections is woken by shutdown(); nothing in this program calls it.
bool refuse_shutdown() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shutdown, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// So many bytes more than there are.
bool limit_memory(rlim_t more) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmData:", 0) == 0) {
      const rlim_t bytes = std::stoul(line.substr(7)) * 1024 + more;
      const rlimit limit{bytes, bytes};
      return setrlimit(RLIMIT_DATA, &limit) == 0;
    }
  }
  return false;
}

}  // namespace

/// "shutdown": a filter of system calls refuses it. "memory": there is enough for the program, and a thread of the
/// driver's.
PROGRAM(refused) {
  const std::string what = argc > 1 ? argv[1] : "";
  constexpr rlim_t kStack = rlim_t{8} << 20U;
  const rlimit stack{kStack, kStack};
  const bool done = what == "shutdown"
                        ? refuse_shutdown()
                        : what != "memory" || (setrlimit(RLIMIT_STACK, &stack) == 0 && limit_memory(2 * kStack));
  if (!done) {
    std::printf("not possible here\n");
    return 0;
  }
  const Loop loop;
  loop.run();
  return 0;
}

/// Everything that graphs may name is destroyed, and made again. "held", "watched": and at the end there is work that
/// nobody waits for, or has not waited for for a while.
PROGRAM(destroys_all) {
  for (int time = 0; time < 2; ++time) {
    const Loop loop;
    loop.run();
    CHECK_CU(cuMemFree(loop.x));
    CHECK_CU(cuMemFree(loop.y));
    CHECK_CU(cuStreamDestroy(loop.stream));
  }
  if (argc > 1) {
    static const Loop& loop = *new Loop;  // not given back
    loop.run();
    loop.launch(3);
    if (std::string(argv[1]) == "watched") {
      sleep(2);
    }
  }
  return 0;
}
