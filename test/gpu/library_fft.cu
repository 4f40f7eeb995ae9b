// cuFFT in a loop: a spectral filter, forward and back, in one and in two dimensions.
#include <cufft.h>

#include <string>

#include "cuda_check.h"
#include "library_loop.h"

namespace {

void check_fft(cufftResult status, const char* call) {
  if (status != CUFFT_SUCCESS) gpu_test::library_failed(call, std::to_string(static_cast<int>(status)).c_str());
}
#define CHECK_FFT(call) check_fft((call), #call)

constexpr int kSide = 128;
constexpr int kLine = 2048;
constexpr int kBatch = 8;

/// Damps high frequencies and undoes the transform's scaling.
__global__ void damp(cufftComplex* values, int count, float scale) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float factor = scale / (1.0f + 1e-4f * static_cast<float>(i % 97));
  values[i].x *= factor;
  values[i].y *= factor;
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, "library_fft [--iterations N]");
  const int iterations = arguments.integer("iterations", 1000);
  arguments.nothing_left();

  constexpr int kPlane = kSide * kSide, kLines = kLine * kBatch;
  auto* plane = reinterpret_cast<cufftComplex*>(gpu_test::upload_random(2 * kPlane, 8));
  auto* lines = reinterpret_cast<cufftComplex*>(gpu_test::upload_random(2 * kLines, 9));
  cudaStream_t stream = nullptr;
  cufftHandle two = 0, one = 0;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK_FFT(cufftPlan2d(&two, kSide, kSide, CUFFT_C2C));
  CHECK_FFT(cufftPlan1d(&one, kLine, CUFFT_C2C, kBatch));
  CHECK_FFT(cufftSetStream(two, stream));
  CHECK_FFT(cufftSetStream(one, stream));

  gpu_test::Loop loop("fft");
  for (int i = 0; i < iterations; ++i) {
    CHECK_FFT(cufftExecC2C(two, plane, plane, CUFFT_FORWARD));
    damp<<<kPlane / 256, 256, 0, stream>>>(plane, kPlane, 1.0f / kPlane);
    CHECK_FFT(cufftExecC2C(two, plane, plane, CUFFT_INVERSE));
    CHECK_FFT(cufftExecC2C(one, lines, lines, CUFFT_FORWARD));
    damp<<<kLines / 256, 256, 0, stream>>>(lines, kLines, 1.0f / kLine);
    CHECK_FFT(cufftExecC2C(one, lines, lines, CUFFT_INVERSE));
    if (i % 10 == 9) CHECK_CUDA(cudaStreamSynchronize(stream));
  }
  CHECK_CUDA(cudaStreamSynchronize(stream));
  loop.print(
      {{reinterpret_cast<const float*>(plane), 2 * kPlane}, {reinterpret_cast<const float*>(lines), 2 * kLines}});
  CHECK_FFT(cufftDestroy(two));
  CHECK_FFT(cufftDestroy(one));
  return 0;
}
