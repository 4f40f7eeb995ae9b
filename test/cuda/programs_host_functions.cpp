// Host functions, values that a stream writes, and memory that is fetched beforehand. The host may wait for the first
// two by looking at memory alone, and calls nobody meanwhile.

#include <atomic>
#include <cstring>
#include <memory>

#include "test/cuda/program.h"

namespace program {
namespace {

constexpr std::size_t kCount = 64;
constexpr int kRounds = 2000;  // until graphs are there some are gone

/// Calls `submit(round)` behind some kernels, in each round.
template <class Submit>
void in_a_loop(const char* kernels, CUdeviceptr x, CUstream stream, const Device& gpu, Submit&& submit) {
  CUfunction kernel = gpu.function("scale");
  const long count = std::strtol(kernels, nullptr, 10);
  for (int round = 0; round < (count < 10 ? kRounds : kRounds / 5); ++round) {
    for (long i = 0; i < count; ++i) {
      scale(stream, kernel, x, kCount, 3, static_cast<Word>(i));
    }
    submit(round);
    if (round % 10 == 9) {
      CHECK_CU(cuStreamSynchronize(stream));
    }
  }
  CHECK_CU(cuStreamSynchronize(stream));
}

/// Looks at memory until it is so. Returns the milliseconds.
template <class Is>
double spin(Is&& is) {
  const double start = now_ms();
  while (!is()) {
  }
  return now_ms() - start;
}

const char* word(int argc, char** argv, const char* otherwise) {
  return argc > 1 ? argv[1] : otherwise;
}

/// The same function with the same data.
PROGRAM(host_function_loop) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  Word calls = 0;
  in_a_loop(word(argc, argv, "4"), x, stream, gpu, [&](int) {
    CHECK_CU(cuLaunchHostFunc(
        stream, [](void* data) { ++*static_cast<Word*>(data); }, &calls));
  });
  std::printf("calls %u\n", calls);
  print("x", x, kCount);
  return 0;
}

/// With data of its own in each round, which the function frees; of two functions in turn, with an argument.
PROGRAM(host_function_data) {
  struct Data {
    Word* sum;
    Word round;
  };
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  Word sum = 0;
  const auto add = [](void* pointer) {
    const std::unique_ptr<Data> data(static_cast<Data*>(pointer));
    *data->sum = *data->sum * 31 + data->round;
  };
  const auto take = [](void* pointer) {
    const std::unique_ptr<Data> data(static_cast<Data*>(pointer));
    *data->sum = *data->sum * 17 - data->round;
  };
  in_a_loop("4", x, stream, gpu, [&](int round) {
    auto* const data = new Data{&sum, static_cast<Word>(round)};
    CHECK_CU(cuLaunchHostFunc(stream, argc > 1 && round % 2 == 1 ? +take : +add, data));
  });
  std::printf("sum %u\n", sum);
  print("x", x, kCount);
  return 0;
}

/// The host waits for what the function writes, in each round.
PROGRAM(host_function_spin) {
  const Device gpu;
  CUstream stream = make_stream();
  CUstream other = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  std::atomic<int> rounds = 0;
  double longest = 0;
  in_a_loop("4", x, stream, gpu, [&](int round) {
    if (argc > 1) {  // what is in another stream is held with it
      scale(other, kernel, y, kCount, 5, 1);
      scale(other, kernel, y, kCount, 7, 1);
    }
    CHECK_CU(cuLaunchHostFunc(
        stream, [](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &rounds));
    longest = std::max(longest, spin([&] { return rounds == round + 1; }));
  });
  std::fprintf(stderr, "longest %.3f ms\n", longest);
  CHECK_CU(cuStreamSynchronize(other));
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// The same with a value that the stream writes.
PROGRAM(value_spin) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  Word* const host = pinned(2);
  CUdeviceptr address = 0;
  CHECK_CU(cuMemHostGetDevicePointer(&address, host, 0));
  double longest = 0;
  in_a_loop("4", x, stream, gpu, [&](int round) {
    const Word wanted = static_cast<Word>(round) + 1;
    CHECK_CU(cuStreamWriteValue32(stream, address, wanted, 0));
    longest = std::max(longest, spin([&] { return std::atomic_ref(*host) == wanted; }));
  });
  std::fprintf(stderr, "longest %.3f ms\n", longest);
  print("x", x, kCount);
  return 0;
}

/// Memory goes back and forth; advice is given in each round, and memory of the wrong kind is refused now and then.
PROGRAM(prefetches) {
  const Device gpu;
  CUstream stream = make_stream();
  CUdeviceptr x = 0;
  CHECK_CU(cuMemAllocManaged(&x, 2 * kCount * sizeof(Word), CU_MEM_ATTACH_GLOBAL));
  CHECK_CU(cuMemsetD32Async(x, 1, 2 * kCount, stream));
  const CUdeviceptr y = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  const CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, 0};
  int refused = 0;
  in_a_loop("3", y, stream, gpu, [&](int round) {
    const CUdeviceptr half = x + round % 2 * kCount * sizeof(Word);
    CHECK_CU(cuMemAdvise(half, kCount * sizeof(Word), CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    const CUdeviceptr fetched = round % 100 == 50 ? y : half;
    const CUresult status = cuMemPrefetchAsync(fetched, kCount * sizeof(Word), device, 0, stream);
    CHECK_CU(fetched == y && status == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : status);
    refused += status == CUDA_SUCCESS ? 0 : 1;
    scale(stream, kernel, half, kCount, 3, 1);
    scale(stream, kernel, half, kCount, 5, 1);
    if (argc > 1) {
      CHECK_CU(cuMemPrefetchAsync(half, kCount * sizeof(Word), host, 0, stream));
    }
  });
  std::printf("refused %d\n", refused);
  print("x", x, 2 * kCount);
  print("y", y, kCount);
  CHECK_CU(cuMemFree(x));
  return 0;
}

}  // namespace
}  // namespace program
