// Programs that tell Refrain something (layer/refrain.h).
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "layer/refrain.h"
#include "test/cuda/program.h"

using namespace program;

namespace {

constexpr Word kCount = 32;

/// A loop of launches that repeats, in regions of the program.
class Steps {
 public:
  explicit Steps(const Device& gpu) : scale_(gpu.function("scale")), mix_(gpu.function("mix_in")) {}

  void step(Word number) {
    refrain_region_begin("step");
    refrain_region_begin("forward");
    for (Word i = 0; i < 10; ++i) {
      scale(stream_, scale_, x_, kCount, 3, i);
    }
    refrain_region_end();
    refrain_region_begin("backward");
    for (Word i = 0; i < 10; ++i) {
      mix_in(stream_, mix_, y_, x_, kCount, i);
    }
    refrain_region_end();
    if (number % 3 == 0) {
      CHECK_CU(cuStreamSynchronize(stream_));
    }
    refrain_region_end();
  }
  void print_all() const {
    CHECK_CU(cuStreamSynchronize(stream_));
    print("x", x_, kCount);
    print("y", y_, kCount);
  }

 private:
  CUfunction scale_, mix_;
  CUstream stream_ = make_stream();
  CUdeviceptr x_ = filled(kCount, 1), y_ = filled(kCount, 2);
};

}  // namespace

/// Stops, starts and flushes at many places, also while another thread submits.
PROGRAM(controlled) {
  const Device gpu;
  refrain_region_begin("all");
  Steps mine(gpu);
  Steps others(gpu);
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    for (Word i = 0; i < 120; ++i) {
      others.step(i);
    }
    refrain_region_end();  // which it never began
  });
  for (Word i = 0; i < 120; ++i) {
    if (i % 40 == 20) {
      refrain_stop();
    }
    mine.step(i);
    if (i % 40 == 35) {
      refrain_start();
    }
    if (i % 7 == 0) {
      refrain_flush();
    }
  }
  other.join();
  mine.print_all();
  others.print_all();
  refrain_region_end();
  return 0;
}

/// Steps until its standard input ends. Says so on the first line.
PROGRAM(until_told) {
  const Device gpu;
  Steps steps(gpu);
  pollfd input{STDIN_FILENO, POLLIN, 0};
  for (Word i = 0; ::poll(&input, 1, 1) == 0; ++i) {
    steps.step(i);
    if (i == 100) {
      std::printf("working\n");
      std::fflush(stdout);
    }
  }
  steps.print_all();
  return 0;
}
