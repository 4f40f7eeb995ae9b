// The driver, devices, errors.
#include <dlfcn.h>

#include <cstring>

#include "test/sim/cudart/runtime.h"

namespace cudart {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

Driver open() noexcept {
  Driver opened;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto look_up =
      library == nullptr
          ? nullptr
          : reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*)>(
                dlsym(library, "cuGetProcAddress_v2"));
  if (look_up == nullptr) {
    opened.status = static_cast<CUresult>(cudaErrorInsufficientDriver);
    return opened;
  }
#define CUDART_LOOK_UP(name)                                                                       \
  if (void* found = nullptr; look_up(#name, &found, CUDART_VERSION, 0, nullptr) == CUDA_SUCCESS) { \
    opened.call_##name = reinterpret_cast<decltype(opened.call_##name)>(found);                    \
  } else {                                                                                         \
    opened.status = CUDA_ERROR_NOT_FOUND;                                                          \
    return opened;                                                                                 \
  }
  CUDART_DRIVER_FUNCTIONS(CUDART_LOOK_UP)
#undef CUDART_LOOK_UP
  void* per_thread = nullptr;
  if (look_up("cuLaunchKernel", &per_thread, CUDART_VERSION, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, nullptr) !=
      CUDA_SUCCESS) {
    opened.status = CUDA_ERROR_NOT_FOUND;
    return opened;
  }
  opened.call_cuLaunchKernel_ptsz = reinterpret_cast<decltype(opened.call_cuLaunchKernel_ptsz)>(per_thread);
  opened.status = opened.call_cuInit(0);
  if (opened.status == CUDA_SUCCESS) {
    opened.status = opened.call_cuDevicePrimaryCtxRetain(&opened.context, 0);
  }
  return opened;
}

}  // namespace

const Driver& driver() noexcept {
  static const Driver opened = open();
  return opened;
}

CUresult ready() noexcept {
  const Driver& all = driver();
  if (all.status != CUDA_SUCCESS) {
    return all.status;
  }
  CUcontext current = nullptr;
  const CUresult status = all.call_cuCtxGetCurrent(&current);
  return status == CUDA_SUCCESS && current == nullptr ? all.call_cuCtxSetCurrent(all.context) : status;
}

cudaError_t note(cudaError_t status) noexcept {
  if (status != cudaSuccess && status != cudaErrorNotReady) {
    last_error = status;
  }
  return status;
}

cudaError_t note(CUresult status) noexcept {
  return note(static_cast<cudaError_t>(status));
}

}  // namespace cudart

using cudart::note;

cudaError_t cudaGetLastError() {
  const cudaError_t last = cudart::last_error;
  cudart::last_error = cudaSuccess;
  return last;
}
cudaError_t cudaPeekAtLastError() {
  return cudart::last_error;
}
const char* cudaGetErrorName(cudaError_t error) {
#define NAME(error) \
  case error: return #error;
  switch (error) {
    NAME(cudaSuccess)
    NAME(cudaErrorInvalidValue)
    NAME(cudaErrorMemoryAllocation)
    NAME(cudaErrorInitializationError)
    NAME(cudaErrorInsufficientDriver)
    NAME(cudaErrorInvalidDevice)
    NAME(cudaErrorInvalidDeviceFunction)
    NAME(cudaErrorInvalidResourceHandle)
    NAME(cudaErrorIllegalState)
    NAME(cudaErrorSymbolNotFound)
    NAME(cudaErrorNotReady)
    NAME(cudaErrorLaunchOutOfResources)
    NAME(cudaErrorNotSupported)
    NAME(cudaErrorStreamCaptureUnsupported)
    NAME(cudaErrorStreamCaptureInvalidated)
    NAME(cudaErrorStreamCaptureUnjoined)
    NAME(cudaErrorStreamCaptureIsolation)
    NAME(cudaErrorStreamCaptureImplicit)
    NAME(cudaErrorTimeout)
    default: return "cudaErrorUnknown";
  }
#undef NAME
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "an error of the simulated device";
}

cudaError_t cudaDriverGetVersion(int* version) {
  return CALL(cuDriverGetVersion, version);
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  return CALL(cuDeviceGetCount, count);
}
cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) {
    return note(cudaErrorInvalidValue);
  }
  const cudaError_t status = note(cudart::ready());
  if (status == cudaSuccess) {
    *device = 0;
  }
  return status;
}
cudaError_t cudaSetDevice(int device) {
  return note(device == 0 ? cudart::ready() : CUDA_ERROR_INVALID_DEVICE);
}
cudaError_t cudaDeviceSynchronize() {
  CUcontext context = nullptr;
  if (const CUresult status = cudart::ready(); status != CUDA_SUCCESS) {
    return cudart::note(status);
  }
  const cudart::Driver& driver = cudart::driver();
  driver.call_cuCtxGetCurrent(&context);
  // Asked for by the name without a version, this is what a program of CUDA 13 gets.
  const auto synchronize =
      reinterpret_cast<decltype(&::cuCtxSynchronize_v2)>(reinterpret_cast<void*>(driver.call_cuCtxSynchronize));
  return cudart::note(synchronize(context));
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return CALL(cuDeviceGetAttribute, value, static_cast<CUdevice_attribute>(attribute), device);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  std::memset(properties, 0, sizeof(*properties));
  cudaError_t status = CALL(cuDeviceGetName, properties->name, sizeof(properties->name), device);
  if (status == cudaSuccess) {
    status = CALL(cuDeviceTotalMem, &properties->totalGlobalMem, device);
  }
  if (status == cudaSuccess) {
    status = CALL(cuDeviceGetAttribute, &properties->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  }
  if (status == cudaSuccess) {
    status =
        CALL(cuDeviceGetAttribute, &properties->multiProcessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  }
  return status;
}
