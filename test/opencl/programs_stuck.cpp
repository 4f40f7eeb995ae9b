// A driver that never returns from calls of Refrain's own.

#include <unistd.h>

#include "test/opencl/program.h"

using namespace program;

namespace {

constexpr std::size_t kCount = 256;
constexpr int kRounds = 200;

/// Memory, a queue and a kernel of its own, and a loop with them.
struct Loop {
  Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_kernel scale = gpu.kernel("scale");
  cl_mem x = gpu.filled(kCount, 1);

  void submit(cl_uint launches) const {
    for (cl_uint i = 0; i < launches; ++i) {
      set(scale, 0, x);
      set(scale, 1, static_cast<cl_uint>(kCount));
      set(scale, 2, 3U);
      set(scale, 3, i);
      launch(queue, scale, kCount);
    }
  }
  void run() const {
    for (int round = 0; round < kRounds; ++round) {
      submit(20);
      CHECK_CL(clFinish(queue));
    }
    print("x", read(queue, x, kCount));
  }
};

}  // namespace

/// Everything that graphs may name is released, the second time while it runs, and made again. "held": and at the end
/// there is work that nobody waits for.
PROGRAM(releases_all) {
  for (int time = 0; time < 3; ++time) {
    const Loop loop;
    loop.run();
    if (time == 1) {
      loop.submit(20);
    }
    CHECK_CL(clReleaseMemObject(loop.x));
    CHECK_CL(clReleaseKernel(loop.scale));
    CHECK_CL(clReleaseCommandQueue(loop.queue));
  }
  if (argc > 1) {
    static const Loop& loop = *new Loop;  // not given back
    loop.run();
    for (int round = 0; round < 5; ++round) {
      loop.submit(20);
      CHECK_CL(clFinish(loop.queue));
    }
    loop.submit(3);
  }
  return 0;
}
