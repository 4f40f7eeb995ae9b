// A program of the runtime API.
#include <cuda_runtime_api.h>

#include <cstdio>

int main() {
  int count = -1;
  std::printf("cudaGetDeviceCount %s\n", cudaGetErrorName(cudaGetDeviceCount(&count)));
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  std::printf("cudaMalloc %s\n", cudaGetErrorName(cudaMalloc(&memory, 64)));
  std::printf("cudaStreamCreate %s\n", cudaGetErrorName(cudaStreamCreate(&stream)));
  std::printf("cudaMemsetAsync %s\n", cudaGetErrorName(cudaMemsetAsync(memory, 1, 64, stream)));
  std::printf("cudaStreamSynchronize %s\n", cudaGetErrorName(cudaStreamSynchronize(stream)));
  return 0;
}
