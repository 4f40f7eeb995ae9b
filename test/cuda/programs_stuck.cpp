// A driver that never returns from calls of Refrain's own.

#include <unistd.h>

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

}  // namespace

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
