// The versioned names under which programs find what cudart.h answers. Of the library alone: what is linked without
// exports.map has no such versions.
//
// The versions are hidden ones ("@", not "@@"): only a program that was linked with libcudart finds the functions, and
// nobody who looks for a cudaGetDevice of whatever origin to see whether there is a runtime.
#include "layer/cuda/cudart.h"

extern "C" {
__attribute__((visibility("default"), used)) int refrain_cudart12_get_device(int* device) noexcept;
__attribute__((visibility("default"), used)) int refrain_cudart13_get_device(int* device) noexcept;
}

int refrain_cudart12_get_device(int* device) noexcept {
  return refrain::layer::cuda::runtime_get_device(refrain::layer::cuda::RuntimeVersion::k12, device);
}
int refrain_cudart13_get_device(int* device) noexcept {
  return refrain::layer::cuda::runtime_get_device(refrain::layer::cuda::RuntimeVersion::k13, device);
}

asm(".symver refrain_cudart12_get_device, cudaGetDevice@libcudart.so.12");
asm(".symver refrain_cudart13_get_device, cudaGetDevice@libcudart.so.13");
