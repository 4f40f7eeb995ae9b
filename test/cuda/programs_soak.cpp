// Everything that a program can make comes and goes, for as long as it is told, beside a loop that stays the same.
#include <thread>

#include "test/cuda/program.h"

using namespace program;

namespace {

constexpr Word kCount = 32;

/// The loop that stays: what is learnt of it must be of use for ever.
void steady(CUstream stream, CUfunction mix, CUfunction multiply, CUdeviceptr x, CUdeviceptr y) {
  for (int turn = 0; turn < 25; ++turn) {
    for (Word i = 0; i < 48; ++i) {
      mix_in(stream, mix, x, y, kCount, i);
      scale(stream, multiply, y, kCount, 3, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
}

/// A loop of a few turns in objects of its own, all of which go afterwards.
void passing(CUcontext context, Word seed) {
  CHECK_CU(cuCtxSetCurrent(context));
  CUmodule module = nullptr;
  CUfunction mix = nullptr;
  CHECK_CU(cuModuleLoadData(&module, "kernels"));
  CHECK_CU(cuModuleGetFunction(&mix, module, "mix_in"));
  CUstream stream = make_stream();
  CUevent event = make_event();
  const CUdeviceptr x = filled(kCount, seed);
  const CUdeviceptr y = filled(kCount, seed);
  for (int turn = 0; turn < 12; ++turn) {
    for (Word i = 0; i < 8; ++i) {
      mix_in(stream, mix, x, x, kCount, i);
    }
    CHECK_CU(cuEventRecord(event, stream));
    mix_in(CU_STREAM_PER_THREAD, mix, y, y, kCount, seed);
    CHECK_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    CHECK_CU(cuEventSynchronize(event));
  }
  CHECK_CU(cuMemFree(x));
  CHECK_CU(cuMemFree(y));
  CHECK_CU(cuEventDestroy(event));
  CHECK_CU(cuStreamDestroy(stream));
  CHECK_CU(cuModuleUnload(module));
}

}  // namespace

/// soak ROUNDS [PAUSE]: in each round a thread, a stream, an event, memory and a module come and go, in every eighth
/// one a context. After each PAUSE rounds it says so, and waits for a line on its standard input.
PROGRAM(soak) {
  const int rounds = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 40;
  const int pause = argc > 2 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 0;
  const Device gpu;
  CUfunction mix = gpu.function("mix_in");
  CUfunction multiply = gpu.function("scale");
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  for (int round = 1; round <= rounds; ++round) {
    steady(stream, mix, multiply, x, y);
    std::thread(passing, gpu.context, static_cast<Word>(round)).join();
#ifndef PROGRAMS_ON_HIP  // which has one context for each device
    if (round % 64 == 0) {
      CUcontext other = nullptr;
      CHECK_CU(cuCtxCreate(&other, nullptr, 0, 0));
      passing(other, static_cast<Word>(round));
      CHECK_CU(cuCtxDestroy(other));
      CHECK_CU(cuCtxSetCurrent(gpu.context));
    }
#endif
    if (pause != 0 && round % pause == 0) {
      std::printf("round %d\n", round);
      std::fflush(stdout);
      char line[16];
      static_cast<void>(std::fgets(line, sizeof(line), stdin) == nullptr);
    }
  }
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}
