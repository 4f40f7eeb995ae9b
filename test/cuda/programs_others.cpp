// What a program shares with others: contexts, and events that other processes wait for.

#include <dlfcn.h>

#include "test/cuda/program.h"

using namespace program;

namespace {
constexpr Word kCount = 32;
constexpr int kRounds = 200;

bool is_active() {
  unsigned flags = 0;
  int active = 0;
  CHECK_CU(cuDevicePrimaryCtxGetState(0, &flags, &active));
  return active != 0;
}
}  // namespace

/// The primary context is given back by each who has a reference, and is gone with the last one.
PROGRAM(given_back) {
  for (int turn = 0; turn < 3; ++turn) {
    {
      const Device gpu;
      CUstream stream = make_stream();
      const CUdeviceptr x = filled(kCount, 1);
      CUfunction kernel = gpu.function("scale");
      CUcontext again = nullptr;
      CHECK_CU(cuDevicePrimaryCtxRetain(&again, 0));
      for (int round = 0; round < kRounds; ++round) {
        for (Word i = 0; i < 6; ++i) {
          scale(stream, kernel, x, kCount, 3, i);
        }
        CHECK_CU(cuStreamSynchronize(stream));
      }
      print("x", x, kCount);
      CHECK_CU(cuDevicePrimaryCtxRelease(0));
      std::printf("one left: %d\n", static_cast<int>(is_active()));
    }
    std::printf("none left: %d\n", static_cast<int>(is_active()));
  }
  return 0;
}

/// 0 is the default stream of whichever context is current: a kernel of another context is refused there.
PROGRAM(default_of_another) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  CUcontext other = nullptr;
  CHECK_CU(cuCtxCreate(&other, nullptr, 0, 0));
  CHECK_CU(cuCtxSetCurrent(gpu.context));
  int refused = 0;
  for (int round = 0; round < 2 * kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      if (round >= kRounds && round % 8 == 3 && i == 3) {
        CUdeviceptr address = x;
        Word count = kCount, a = 3, b = i;
        void* parameters[] = {&address, &count, &a, &b};
        CHECK_CU(cuCtxSetCurrent(other));
        refused += cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr) != CUDA_SUCCESS ? 1 : 0;
        CHECK_CU(cuCtxSetCurrent(gpu.context));
      }
      scale(nullptr, kernel, x, kCount, 3, i);
    }
    CHECK_CU(cuCtxSynchronize());
  }
  std::printf("refused %d\n", refused);
  print("x", x, kCount);
  CHECK_CU(cuCtxDestroy(other));
  return 0;
}

/// Another process waits for an event: it asks the driver itself, whose file is the argument.
PROGRAM(shared_event) {
  const Device gpu;
  void* driver = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
  auto* wait = driver == nullptr
                   ? nullptr
                   : reinterpret_cast<decltype(&::cuEventSynchronize)>(dlsym(driver, "cuEventSynchronize"));
  if (wait == nullptr) {
    std::printf("no driver %s\n", argv[1]);
    return 1;
  }
  CUstream stream = make_stream();
  CUevent event = make_event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  const CUdeviceptr x = filled(kCount, 1);
  Word* seen = pinned(1);
  CUdeviceptr told = 0;
  CHECK_CU(cuMemHostGetDevicePointer(&told, seen, 0));
  CUfunction kernel = gpu.function("scale");
  CUfunction store = gpu.function("store");
  int early = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 5; ++i) {
      scale(stream, kernel, x, kCount, 3, i);
    }
    const Word value = 1 + static_cast<Word>(round) % 2;
    launch_on(stream, store, 1, told, value);
    CHECK_CU(cuEventRecord(event, stream));
    CHECK_CU(wait(event));
    early += *static_cast<volatile Word*>(seen) != value ? 1 : 0;
    for (Word i = 0; i < 3; ++i) {
      scale(stream, kernel, x, kCount, 5, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  std::printf("too early %d\n", early);
  print("x", x, kCount);
  return 0;
}
