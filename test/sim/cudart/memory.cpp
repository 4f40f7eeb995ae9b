// Memory, copies, fills.
#include "test/sim/cudart/runtime.h"

using cudart::number;

namespace {

CUDA_MEMCPY2D box(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                  std::size_t height) noexcept {
  CUDA_MEMCPY2D copy{};
  copy.dstMemoryType = copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = number(to);
  copy.dstPitch = to_pitch;
  copy.srcDevice = number(from);
  copy.srcPitch = from_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

}  // namespace

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return CALL(cuMemAlloc, reinterpret_cast<CUdeviceptr*>(memory), bytes);
}
cudaError_t cudaMallocManaged(void** memory, std::size_t bytes, unsigned flags) {
  return CALL(cuMemAllocManaged, reinterpret_cast<CUdeviceptr*>(memory), bytes, flags);
}
cudaError_t cudaFree(void* memory) {
  return CALL(cuMemFree, number(memory));
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return CALL(cuMemHostAlloc, memory, bytes, flags);
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return CALL(cuMemHostAlloc, memory, bytes, 0);
}
cudaError_t cudaFreeHost(void* memory) {
  return memory == nullptr ? cudaSuccess : CALL(cuMemFreeHost, memory);
}
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  return CALL(cuMemAllocAsync, reinterpret_cast<CUdeviceptr*>(memory), bytes, stream);
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  return CALL(cuMemFreeAsync, number(memory), stream);
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  return CALL(cuMemHostRegister, memory, bytes, flags);
}
cudaError_t cudaHostUnregister(void* memory) {
  return CALL(cuMemHostUnregister, memory);
}
cudaError_t cudaHostGetDevicePointer(void** address, void* memory, unsigned flags) {
  return CALL(cuMemHostGetDevicePointer, reinterpret_cast<CUdeviceptr*>(address), memory, flags);
}
cudaError_t cudaMemGetInfo(std::size_t* unused, std::size_t* total) {
  return CALL(cuMemGetInfo, unused, total);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice: return CALL(cuMemcpyHtoD, number(to), from, bytes);
    case cudaMemcpyDeviceToHost: return CALL(cuMemcpyDtoH, to, number(from), bytes);
    case cudaMemcpyDeviceToDevice: return CALL(cuMemcpyDtoD, number(to), number(from), bytes);
    default: return CALL(cuMemcpy, number(to), number(from), bytes);
  }
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  switch (kind) {
    case cudaMemcpyHostToDevice: return CALL(cuMemcpyHtoDAsync, number(to), from, bytes, stream);
    case cudaMemcpyDeviceToHost: return CALL(cuMemcpyDtoHAsync, to, number(from), bytes, stream);
    case cudaMemcpyDeviceToDevice: return CALL(cuMemcpyDtoDAsync, number(to), number(from), bytes, stream);
    default: return CALL(cuMemcpyAsync, number(to), number(from), bytes, stream);
  }
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind) {
  const CUDA_MEMCPY2D copy = box(to, to_pitch, from, from_pitch, width, height);
  return CALL(cuMemcpy2D, &copy);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  const CUDA_MEMCPY2D copy = box(to, to_pitch, from, from_pitch, width, height);
  return CALL(cuMemcpy2DAsync, &copy, stream);
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return CALL(cuMemsetD8, number(to), static_cast<unsigned char>(value), bytes);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return CALL(cuMemsetD8Async, number(to), static_cast<unsigned char>(value), bytes, stream);
}
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
  return CALL(cuMemsetD2D8Async, number(to), pitch, static_cast<unsigned char>(value), width, height, stream);
}
