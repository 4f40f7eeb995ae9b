// The contract programs of test/cuda on HIP: what they use of CUDA's driver API, in HIP's words, as tools that
// translate programs from one to the other do. Stands in cuda.h's place.
#pragma once

#define PROGRAMS_ON_HIP
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>

extern "C" hipError_t hipLaunchHostFunc(hipStream_t stream, void (*function)(void*), void* data);
/// A code object with all kernels, made by make_code_object.
extern "C" const char contract_image[];

using CUresult = hipError_t;
using CUstream = hipStream_t;
using CUevent = hipEvent_t;
using CUmodule = hipModule_t;
using CUfunction = hipFunction_t;
using CUgraph = hipGraph_t;
using CUgraphExec = hipGraphExec_t;
using CUcontext = const void*;
using CUdeviceptr = unsigned long long;
using CUdevice = int;
using CUstreamCaptureMode = hipStreamCaptureMode;
using CUstreamCaptureStatus = hipStreamCaptureStatus;

constexpr CUresult CUDA_SUCCESS = hipSuccess;
constexpr CUresult CUDA_ERROR_INVALID_VALUE = hipErrorInvalidValue;
constexpr CUresult CUDA_ERROR_NOT_READY = hipErrorNotReady;
constexpr CUresult CUDA_ERROR_NOT_INITIALIZED = hipErrorNotInitialized;
constexpr CUresult CUDA_ERROR_NOT_SUPPORTED = hipErrorNotSupported;
constexpr CUresult CUDA_ERROR_NOT_FOUND = hipErrorNotFound;
constexpr CUresult CUDA_ERROR_INVALID_DEVICE = hipErrorInvalidDevice;
constexpr unsigned CU_STREAM_DEFAULT = hipStreamDefault;
constexpr unsigned CU_STREAM_NON_BLOCKING = hipStreamNonBlocking;
constexpr unsigned CU_EVENT_DEFAULT = hipEventDefault;
constexpr unsigned CU_EVENT_DISABLE_TIMING = hipEventDisableTiming;
constexpr auto CU_STREAM_CAPTURE_MODE_GLOBAL = hipStreamCaptureModeGlobal;
constexpr auto CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = hipStreamCaptureModeThreadLocal;
constexpr auto CU_STREAM_CAPTURE_MODE_RELAXED = hipStreamCaptureModeRelaxed;
constexpr auto CU_STREAM_CAPTURE_STATUS_NONE = hipStreamCaptureStatusNone;
// hipStreamLegacy of newer headers.
#define CU_STREAM_LEGACY (reinterpret_cast<hipStream_t>(1))
#define CU_STREAM_PER_THREAD hipStreamPerThread
#define CU_LAUNCH_PARAM_BUFFER_POINTER HIP_LAUNCH_PARAM_BUFFER_POINTER
#define CU_LAUNCH_PARAM_BUFFER_SIZE HIP_LAUNCH_PARAM_BUFFER_SIZE
#define CU_LAUNCH_PARAM_END HIP_LAUNCH_PARAM_END

inline void* in_hip(CUdeviceptr address) noexcept {
  return reinterpret_cast<void*>(address);
}

// A device is always current.
inline CUresult cuDevicePrimaryCtxRetain(CUcontext*, int) noexcept {
  return hipSuccess;
}
inline CUresult cuDevicePrimaryCtxRelease(int) noexcept {
  return hipSuccess;
}
inline CUresult cuCtxSetCurrent(CUcontext) noexcept {
  return hipSetDevice(0);
}
inline CUresult cuInit(unsigned flags) noexcept {
  return hipInit(flags);
}
inline CUresult cuCtxGetDevice(CUdevice* device) noexcept {
  return hipGetDevice(device);
}
inline CUresult cuCtxSynchronize() {
  return hipDeviceSynchronize();
}

inline CUresult cuModuleLoadData(CUmodule* module, const char*) noexcept {
  return hipModuleLoadData(module, contract_image);
}
inline CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) noexcept {
  return hipModuleGetFunction(function, module, name);
}
inline CUresult cuModuleUnload(CUmodule module) noexcept {
  return hipModuleUnload(module);
}
inline CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared, CUstream stream, void** parameters,
                               void** extra) noexcept {
  return hipModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}
inline CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* data) noexcept {
  return hipLaunchHostFunc(stream, function, data);
}

inline CUresult cuStreamCreate(CUstream* stream, unsigned flags) noexcept {
  return hipStreamCreateWithFlags(stream, flags);
}
inline CUresult cuStreamDestroy(CUstream stream) noexcept {
  return hipStreamDestroy(stream);
}
inline CUresult cuStreamSynchronize(CUstream stream) {
  return hipStreamSynchronize(stream);
}
inline CUresult cuStreamQuery(CUstream stream) noexcept {
  return hipStreamQuery(stream);
}
inline CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) noexcept {
  return hipStreamGetFlags(stream, flags);
}
inline CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) noexcept {
  return hipStreamWaitEvent(stream, event, flags);
}
inline CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return hipStreamBeginCapture(stream, mode);
}
inline CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) noexcept {
  return hipStreamEndCapture(stream, graph);
}
inline CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) noexcept {
  return hipThreadExchangeStreamCaptureMode(mode);
}
inline CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) noexcept {
  return hipStreamIsCapturing(stream, status);
}

inline CUresult cuEventCreate(CUevent* event, unsigned flags) noexcept {
  return hipEventCreateWithFlags(event, flags);
}
inline CUresult cuEventDestroy(CUevent event) noexcept {
  return hipEventDestroy(event);
}
inline CUresult cuEventRecord(CUevent event, CUstream stream) noexcept {
  return hipEventRecord(event, stream);
}
inline CUresult cuEventQuery(CUevent event) noexcept {
  return hipEventQuery(event);
}
inline CUresult cuEventSynchronize(CUevent event) {
  return hipEventSynchronize(event);
}
inline CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) noexcept {
  return hipEventElapsedTime(milliseconds, start, end);
}

inline CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned) noexcept {
  return hipGraphInstantiate(exec, graph, nullptr, nullptr, 0);
}
inline CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned) noexcept {
  return hipGraphInstantiate(exec, graph, nullptr, nullptr, 0);
}
inline CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) noexcept {
  return hipGraphLaunch(exec, stream);
}
inline CUresult cuGraphExecDestroy(CUgraphExec exec) noexcept {
  return hipGraphExecDestroy(exec);
}
inline CUresult cuGraphDestroy(CUgraph graph) noexcept {
  return hipGraphDestroy(graph);
}

inline CUresult given(void* memory, CUresult status, CUdeviceptr* address) noexcept {
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return status;
}
inline CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) noexcept {
  void* memory = nullptr;
  const CUresult status = hipMalloc(&memory, bytes);
  return given(memory, status, address);
}
inline CUresult cuMemFree(CUdeviceptr address) noexcept {
  return hipFree(in_hip(address));
}
inline CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) noexcept {
  void* memory = nullptr;
  const CUresult status = hipMallocAsync(&memory, bytes, stream);
  return given(memory, status, address);
}
inline CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) noexcept {
  return hipFreeAsync(in_hip(address), stream);
}
inline CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) noexcept {
  return hipHostMalloc(memory, bytes, flags);
}
constexpr unsigned CU_MEM_ATTACH_GLOBAL = hipMemAttachGlobal;
inline CUresult cuMemAllocPitch(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height,
                                unsigned) noexcept {
  void* memory = nullptr;
  const CUresult status = hipMallocPitch(&memory, pitch, width, height);
  return given(memory, status, address);
}
inline CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) noexcept {
  void* memory = nullptr;
  const CUresult status = hipMallocManaged(&memory, bytes, flags);
  return given(memory, status, address);
}
inline CUresult cuMemAllocHost(void** memory, std::size_t bytes) noexcept {
  return hipHostMalloc(memory, bytes, 0);
}
inline CUresult cuMemHostRegister(void* memory, std::size_t bytes, unsigned flags) noexcept {
  return hipHostRegister(memory, bytes, flags);
}
inline CUresult cuMemHostUnregister(void* memory) {
  return hipHostUnregister(memory);
}
inline CUresult cuMemFreeHost(void* memory) noexcept {
  return hipHostFree(memory);
}
inline CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* memory, unsigned) noexcept {
  return given(memory, hipSuccess, address);
}
inline CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) noexcept {
  return hipMemcpyHtoD(in_hip(to), const_cast<void*>(from), bytes);
}
inline CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  return hipMemcpyDtoH(to, in_hip(from), bytes);
}
inline CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) noexcept {
  return hipMemcpyAsync(in_hip(to), in_hip(from), bytes, hipMemcpyDefault, stream);
}
inline CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) noexcept {
  return hipMemcpyHtoDAsync(in_hip(to), const_cast<void*>(from), bytes, stream);
}
inline CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return hipMemcpyDtoHAsync(to, in_hip(from), bytes, stream);
}
inline CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) noexcept {
  return hipMemcpyDtoDAsync(in_hip(to), in_hip(from), bytes, stream);
}
enum CUmemorytype { CU_MEMORYTYPE_UNIFIED };
struct CUDA_MEMCPY3D {
  CUmemorytype srcMemoryType, dstMemoryType;
  CUdeviceptr srcDevice, dstDevice;
  std::size_t srcPitch, srcHeight, dstPitch, dstHeight, WidthInBytes, Height, Depth;
};
/// Slice by slice.
inline CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream) noexcept {
  CUresult status = hipSuccess;
  for (std::size_t z = 0; z < copy->Depth && status == hipSuccess; ++z) {
    status = hipMemcpy2DAsync(in_hip(copy->dstDevice + z * copy->dstPitch * copy->dstHeight), copy->dstPitch,
                              in_hip(copy->srcDevice + z * copy->srcPitch * copy->srcHeight), copy->srcPitch,
                              copy->WidthInBytes, copy->Height, hipMemcpyDefault, stream);
  }
  return status;
}
/// A column of words, byte by byte: versions of the runtime have no fills of rows with words, or do not agree whether
/// their width counts bytes or words.
inline CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                                   std::size_t height, CUstream stream) noexcept {
  CUresult status = width == 1 ? hipSuccess : hipErrorNotSupported;
  for (std::size_t i = 0; i < sizeof(value) && status == hipSuccess; ++i) {
    status = hipMemset2DAsync(in_hip(to + i), pitch, static_cast<int>(value >> 8 * i & 0xFFU), 1, height, stream);
  }
  return status;
}
extern "C" hipError_t hipMemPrefetchAsync_v2(const void* memory, std::size_t bytes, hipMemLocation to, unsigned flags,
                                             hipStream_t stream);
enum CUmemLocationType { CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST };
struct CUmemLocation {
  CUmemLocationType type;
  int id;
};
inline CUresult cuMemPrefetchAsync(CUdeviceptr memory, std::size_t bytes, CUmemLocation to, unsigned,
                                   CUstream stream) noexcept {
  if (to.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    return hipMemPrefetchAsync(in_hip(memory), bytes, to.id, stream);
  }
  constexpr auto kHost = static_cast<hipMemLocationType>(2);  // as newer headers have it
  return hipMemPrefetchAsync_v2(in_hip(memory), bytes, {kHost, 0}, 0, stream);
}
using CUmem_advise = hipMemoryAdvise;
inline constexpr CUmem_advise CU_MEM_ADVISE_SET_READ_MOSTLY = hipMemAdviseSetReadMostly;
inline CUresult cuMemAdvise(CUdeviceptr memory, std::size_t bytes, CUmem_advise advice, CUmemLocation to) noexcept {
  return hipMemAdvise(in_hip(memory), bytes, advice, to.id);
}
inline CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr to, unsigned value, unsigned flags) noexcept {
  return hipStreamWriteValue32(stream, in_hip(to), value, flags);
}
inline CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) noexcept {
  return hipMemsetD8Async(in_hip(to), value, count, stream);
}
inline CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream) noexcept {
  return hipMemsetD16Async(in_hip(to), value, count, stream);
}
inline CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) noexcept {
  return hipMemsetD32Async(in_hip(to), static_cast<int>(value), count, stream);
}
inline CUresult cuMemsetD32(CUdeviceptr to, unsigned value, std::size_t count) noexcept {
  const CUresult status = cuMemsetD32Async(to, value, count, nullptr);
  return status == hipSuccess ? hipStreamSynchronize(nullptr) : status;
}
