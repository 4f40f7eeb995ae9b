// The versioned names under which programs find what cudart.h answers. Of the library alone: what is linked without
// exports.map has no such versions.
//
// The versions are hidden ones ("@", not "@@"): only a program that was linked with libcudart finds the functions, and
// nobody who looks for a cudaGetDevice of whatever origin to see whether there is a runtime.
#include "layer/cuda/cudart_launch.h"

namespace {

using refrain::backends::Grid;
using refrain::layer::cuda::DefaultStream;
using refrain::layer::cuda::runtime_get_device;
using refrain::layer::cuda::runtime_launch_kernel;
using refrain::layer::cuda::runtime_set_device;
using refrain::layer::cuda::RuntimeVersion;

}  // namespace

extern "C" {
__attribute__((visibility("default"), used)) int refrain_cudart12_get_device(int* device) noexcept;
__attribute__((visibility("default"), used)) int refrain_cudart13_get_device(int* device) noexcept;
__attribute__((visibility("default"), used)) int refrain_cudart12_set_device(int device) noexcept;
__attribute__((visibility("default"), used)) int refrain_cudart13_set_device(int device) noexcept;
}

int refrain_cudart12_get_device(int* device) noexcept {
  return runtime_get_device(RuntimeVersion::k12, device);
}
int refrain_cudart13_get_device(int* device) noexcept {
  return runtime_get_device(RuntimeVersion::k13, device);
}
int refrain_cudart12_set_device(int device) noexcept {
  return runtime_set_device(RuntimeVersion::k12, device);
}
int refrain_cudart13_set_device(int device) noexcept {
  return runtime_set_device(RuntimeVersion::k13, device);
}

// The runtime's dim3 is passed as a Grid is: three unsigned numbers in two registers.
#define LAUNCH(name, version, by_default)                                                                            \
  extern "C" __attribute__((visibility("default"), used, hot)) int name(CUfunction kernel, Grid grid, Grid block,    \
                                                                        void** parameters, std::size_t shared_bytes, \
                                                                        CUstream stream) noexcept;                   \
  int name(CUfunction kernel, Grid grid, Grid block, void** parameters, std::size_t shared_bytes,                    \
           CUstream stream) noexcept {                                                                               \
    return runtime_launch_kernel<RuntimeVersion::version, DefaultStream::by_default>(                                \
        {kernel, grid, block, parameters, shared_bytes, stream});                                                    \
  }
LAUNCH(refrain_cudart12_launch, k12, kLegacy)
LAUNCH(refrain_cudart13_launch, k13, kLegacy)
LAUNCH(refrain_cudart12_launch_ptsz, k12, kPerThread)
LAUNCH(refrain_cudart13_launch_ptsz, k13, kPerThread)

asm(".symver refrain_cudart12_get_device, cudaGetDevice@libcudart.so.12");
asm(".symver refrain_cudart13_get_device, cudaGetDevice@libcudart.so.13");
asm(".symver refrain_cudart12_set_device, cudaSetDevice@libcudart.so.12");
asm(".symver refrain_cudart13_set_device, cudaSetDevice@libcudart.so.13");
asm(".symver refrain_cudart12_launch, __cudaLaunchKernel@libcudart.so.12");
asm(".symver refrain_cudart13_launch, __cudaLaunchKernel@libcudart.so.13");
asm(".symver refrain_cudart12_launch_ptsz, __cudaLaunchKernel_ptsz@libcudart.so.12");
asm(".symver refrain_cudart13_launch_ptsz, __cudaLaunchKernel_ptsz@libcudart.so.13");
