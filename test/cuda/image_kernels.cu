// Something to compile: code_image_test reads the cubin, the fat binary and the PTX of it.
__device__ float offsets[64];

extern "C" __global__ void add(float* x, const float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) {
    x[i] += y[i] + offsets[i % 64];
  }
}

extern "C" __global__ void scale(float* x, float a, int n) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = a;
  __syncthreads();
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) {
    x[i] *= shared[threadIdx.x];
  }
}
