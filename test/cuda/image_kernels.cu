// Something to compile: code_image_test reads the cubin, the fat binary and the PTX of it, code_contents_test what is
// in them.
#include <cstdio>

__device__ float offsets[64];
__device__ int limit = 5;
__constant__ float factor;

extern "C" __global__ void add(float* x, const float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) {
    x[i] += y[i] * factor + offsets[i % 64];
  }
}

extern "C" __global__ void scale(float* x, float a, int n) {
  extern __shared__ float shared[];
  static __device__ int calls;
  shared[threadIdx.x] = a;
  __syncthreads();
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n && atomicAdd(&calls, 1) < limit) {
    x[i] *= shared[threadIdx.x];
  }
}

extern "C" __global__ void print(const float* x) {
  printf("%f\n", x[0]);
}

__device__ __noinline__ void* make(int bytes) {
  return malloc(bytes);
}
extern "C" __global__ void keep(void** x, int bytes) {
  x[0] = make(bytes);
}
