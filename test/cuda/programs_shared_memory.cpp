// What others than the program's own kernels may use as well: its threads, other devices, other processes.

#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "test/cuda/program.h"

using namespace program;

namespace {
constexpr Word kCount = 32;
constexpr int kRounds = 200;
}  // namespace

/// A thread counts in pinned memory, without a call, while kernels change other memory. Nobody else may write there.
PROGRAM(host_writer) {
  const Device gpu;
  CUstream stream = make_stream();
  CUfunction scale_function = gpu.function("scale");
  const CUdeviceptr x = filled(kCount, 1);
  Word* const memory = pinned(kCount);
  std::atomic<bool> stop{false};
  int lost = 0;
  std::thread writer([&] {
    std::atomic_ref<Word> counter(*memory);
    for (Word written = counter.load(); !stop;) {
      lost += counter.load() == written ? 0 : 1;
      counter.store(++written);
    }
  });
  for (int round = 0; round < 5 * kRounds; ++round) {
    for (int i = 0; i < 8; ++i) {
      scale(stream, scale_function, x, kCount, 3, 1);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  stop = true;
  writer.join();
  std::printf("lost %d\n", lost);
  print("x", x, kCount);
  return 0;
}

/// The third kernel of six is one of a library for several devices, by its name.
PROGRAM(collective) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      scale(stream, gpu.function(i == 2 ? "ncclDevKernel_scale" : "scale"), x, kCount, 3, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  return 0;
}

/// Pinned memory that other processes may have, too.
PROGRAM(shared_mapping) {
  const Device gpu;
  constexpr std::size_t kBytes = 4096;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK_CU(cuMemHostRegister(memory, kBytes, 0));
  CUstream stream = make_stream();
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 5; ++i) {
      scale(stream, gpu.function("scale"), reinterpret_cast<CUdeviceptr>(memory), kCount, 3, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", reinterpret_cast<CUdeviceptr>(memory), kCount);
  CHECK_CU(cuMemHostUnregister(memory));
  return 0;
}
