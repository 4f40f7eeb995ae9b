// cuBLAS in loops as programs use it: a chain of small matrix products that feed one another, a batched product, and
// a scalar result that the host reads. Prints a checksum per part.
#include <cublas_v2.h>

#include <cmath>

#include "cuda_check.h"
#include "library_loop.h"

namespace {

void check_blas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) gpu_test::library_failed(call, cublasGetStatusString(status));
}
#define CHECK_BLAS(call) check_blas((call), #call)

constexpr int kSize = 128;
constexpr int kCells = kSize * kSize;

/// What keeps a chain of products in range.
__global__ void squash(float* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] = values[i] / (1.0f + fabsf(values[i]));
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, "library_blas [--iterations N]");
  const int iterations = arguments.integer("iterations", 1000);
  arguments.nothing_left();

  cudaStream_t stream = nullptr;
  cublasHandle_t handle = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK_BLAS(cublasCreate(&handle));
  CHECK_BLAS(cublasSetStream(handle, stream));
  CHECK_BLAS(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
  float* a = gpu_test::upload_random(kCells, 1);
  float* b = gpu_test::upload_random(kCells, 2);
  float* c = gpu_test::upload_random(kCells, 3);
  float* d = gpu_test::upload_random(kCells, 4);
  const float one = 1.0f, damping = 0.5f, zero = 0.0f;

  gpu_test::Loop products("gemm");
  for (int i = 0; i < iterations; ++i) {
    CHECK_BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, kSize, kSize, kSize, &damping, a, kSize, b, kSize, &zero,
                           c, kSize));
    CHECK_BLAS(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, kSize, kSize, kSize, &one, c, kSize, b, kSize, &damping, d,
                           kSize));
    squash<<<kCells / 256, 256, 0, stream>>>(d, kCells);
    CHECK_BLAS(cublasSaxpy(handle, kCells, &damping, d, 1, a, 1));
    squash<<<kCells / 256, 256, 0, stream>>>(a, kCells);
    CHECK_BLAS(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 32, 32, 32, &damping, a, 32, 1024, d, 32,
                                         1024, &damping, c, 32, 1024, kCells / 1024));
    if (i % 10 == 9) CHECK_CUDA(cudaStreamSynchronize(stream));
  }
  CHECK_CUDA(cudaStreamSynchronize(stream));
  products.print({{a, kCells}, {c, kCells}, {d, kCells}});

  // The host reads a norm in every iteration: a wait inside the library.
  gpu_test::Loop norms("norm");
  gpu_test::Checksum read;
  for (int i = 0; i < iterations; ++i) {
    CHECK_BLAS(cublasSgemv(handle, CUBLAS_OP_N, kSize, kSize, &one, a, kSize, b, 1, &zero, c, 1));
    float norm = 0;
    CHECK_BLAS(cublasSnrm2(handle, kSize, c, 1, &norm));
    read.add(&norm, sizeof norm);
    const float scale = norm > 0 && std::isfinite(norm) ? 1.0f / norm : 1.0f;
    CHECK_BLAS(cublasSscal(handle, kSize, &scale, c, 1));
    CHECK_BLAS(cublasScopy(handle, kSize, c, 1, b, 1));
  }
  norms.print({{b, kSize}, {c, kSize}}, read.value());
  CHECK_BLAS(cublasDestroy(handle));
  CHECK_CUDA(cudaDeviceSynchronize());
  return 0;
}
