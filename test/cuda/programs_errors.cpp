// What the driver may refuse while it is submitted by another thread, after a pause, or with other arguments.

#include <chrono>
#include <thread>

#include "test/cuda/program.h"

using namespace program;

namespace {
constexpr Word kCount = 64;
}  // namespace

/// Another thread waits for what the first one submitted, or nobody does for a while.
PROGRAM(short_handed) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < 40; ++round) {
    for (Word i = 0; i < 4; ++i) {
      mix_in(stream, mix, i % 2 == 0 ? x : y, i % 2 == 0 ? y : x, kCount, i);
    }
    if (round >= 20 && round % 2 == 0) {
      mix_in(stream, mix, x, y, kCount, 0);
      std::thread([&] {
        CHECK_CU(cuCtxSetCurrent(gpu.context));
        CHECK_CU(cuStreamSynchronize(stream));
      }).join();
    } else if (round >= 20) {
      mix_in(stream, mix, x, y, kCount, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
    CHECK_CU(cuStreamSynchronize(stream));
    if (round % 4 == 0) {
      pause_briefly();
    }
  }
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Several launches get other numbers in each round, and the old ones again.
PROGRAM(short_numbers) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction scale_function = gpu.function("scale");
  for (int round = 0; round < 40; ++round) {
    for (Word i = 0; i < 5; ++i) {
      scale(stream, scale_function, x, kCount, 3 + i, round % 3 == 2 ? 7 : static_cast<Word>(round) * i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
    if (round % 4 == 0) {
      pause_briefly();
    }
  }
  print("x", x, kCount);
  return 0;
}
