// Host functions and values that are written in stream order: the host may wait for what they do by looking at memory
// alone, and calls nobody meanwhile.
#include <atomic>
#include <cstring>
#include <thread>

#include "test/cuda/program.h"

namespace program {
namespace {

constexpr std::size_t kCount = 64;
constexpr int kRounds = 400;

PROGRAM(host_function_loop) {
  const int kernels = argc > 1 ? std::atoi(argv[1]) : 4;
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  Word calls = 0;
  const double start = now_ms();
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kernels; ++i) {
      scale(stream, kernel, x, kCount, 3, i);
    }
    CHECK_CU(cuLaunchHostFunc(stream, [](void* data) { ++*static_cast<Word*>(data); }, &calls));
    if (round % 10 == 9) {
      CHECK_CU(cuStreamSynchronize(stream));
    }
  }
  CHECK_CU(cuStreamSynchronize(stream));
  std::fprintf(stderr, "took %.3f ms\n", now_ms() - start);
  std::printf("calls %u\n", calls);
  print("x", x, kCount);
  return 0;
}

}  // namespace
}  // namespace program
