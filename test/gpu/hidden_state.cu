// Kernels that remember: in variables of their code, in managed ones, in the device's heap, in what they print. Nothing
// leads there from their arguments, and whoever runs them twice sees it.
#include <cstring>

#include "cuda_check.h"

using gpu_test::Checksum;

__device__ unsigned calls;
static __device__ unsigned sums[64] = {1, 2, 3};
__managed__ unsigned managed_calls;
namespace {
__device__ unsigned unnamed_calls;
}
__device__ unsigned* kept;

__global__ void in_variables(unsigned* x) {
  static __device__ unsigned of_function;
  const unsigned i = threadIdx.x;
  sums[i] = sums[i] * 31 + i;
  x[i] = x[i] * 31 + sums[i];
  if (i == 0) {
    x[0] += ++calls + ++managed_calls * 3 + ++unnamed_calls * 5 + ++of_function * 7;
  }
}

__global__ void in_heap(unsigned* x) {
  if (kept == nullptr) {
    kept = static_cast<unsigned*>(malloc(sizeof(unsigned)));
    *kept = 0;
  }
  x[0] = x[0] * 31 + ++*kept;
}

__global__ void in_print(unsigned* x) {
  x[0] = x[0] * 31 + 1;
  if (x[0] % 64 == 7) {
    printf("seen %u\n", x[0]);
  }
}

int main(int count, char** arguments) {
  const char* kind = count > 1 ? arguments[1] : "variables";
  cudaStream_t stream = nullptr;
  unsigned* x = nullptr;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaMalloc(&x, 64 * sizeof(unsigned)));
  CHECK_CUDA(cudaMemset(x, 0, 64 * sizeof(unsigned)));
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int round = 0; round < 500; ++round) {
    for (int i = 0; i < 8; ++i) {
      if (std::strcmp(kind, "heap") == 0) {
        in_heap<<<1, 1, 0, stream>>>(x);
      } else if (std::strcmp(kind, "print") == 0) {
        in_print<<<1, 1, 0, stream>>>(x);
      } else {
        in_variables<<<1, 64, 0, stream>>>(x);
      }
      CHECK_CUDA(cudaGetLastError());
    }
    CHECK_CUDA(cudaStreamSynchronize(stream));
  }
  Checksum sum;
  sum.add_device(x, 64);
  std::printf("%s: %016llx\n", kind, static_cast<unsigned long long>(sum.value()));
  return 0;
}
