// The driver, devices, errors.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "test/sim/cudart/runtime.h"

namespace cudart {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int last_device = 0;  ///< of the thread's last context
// With SIM_CUDART_LAZY, as runtimes before CUDA 12: a device that was set is made current by the next call that needs a
// context.
thread_local bool is_set = false;  ///< last_device, and it is not current yet

bool is_lazy() noexcept {
  static const bool lazy = std::getenv("SIM_CUDART_LAZY") != nullptr;
  return lazy;
}

CUresult make_current(int device) noexcept {
  CUcontext context = nullptr;
  const CUresult status = driver().call_cuDevicePrimaryCtxRetain(&context, device);  // until cudaDeviceReset()
  is_set = false;
  return status == CUDA_SUCCESS ? driver().call_cuCtxSetCurrent(context) : status;
}

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
  if (is_set) {
    return make_current(last_device);
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
/// As NVIDIA's (test/gpu/device_rules.cu): that of the thread's context, or of its last one. Makes none current.
cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) {
    return note(cudaErrorInvalidValue);
  }
  const cudart::Driver& driver = cudart::driver();
  CUcontext current = nullptr;
  CUresult status = driver.status;
  if (status == CUDA_SUCCESS) {
    status = driver.call_cuCtxGetCurrent(&current);
  }
  if (status == CUDA_SUCCESS && current != nullptr && !cudart::is_set) {
    // Asked for by the name without a version, this is what a program of CUDA 13 gets.
    const auto of_context =
        reinterpret_cast<decltype(&::cuCtxGetDevice_v2)>(reinterpret_cast<void*>(driver.call_cuCtxGetDevice));
    status = of_context(&cudart::last_device, current);
    // One that was reset is nobody's until it is in use again.
    status = status == CUDA_ERROR_CONTEXT_IS_DESTROYED || status == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : status;
  }
  if (status == CUDA_SUCCESS) {
    *device = cudart::last_device;
  }
  return note(status);
}
cudaError_t cudaSetDevice(int device) {
  const cudart::Driver& driver = cudart::driver();
  int count = 0;
  CUresult status = driver.status;
  if (status == CUDA_SUCCESS) {
    status = driver.call_cuDeviceGetCount(&count);
  }
  if (status == CUDA_SUCCESS && (device < 0 || device >= count)) {
    status = CUDA_ERROR_INVALID_DEVICE;
  }
  if (status == CUDA_SUCCESS) {
    cudart::last_device = device;
    cudart::is_set = cudart::is_lazy();
    status = cudart::is_set ? CUDA_SUCCESS : cudart::make_current(device);
  }
  return note(status);
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int there) {
  return CALL(cuDeviceCanAccessPeer, can, device, there);
}
cudaError_t cudaDeviceEnablePeerAccess(int there, unsigned flags) {
  CUcontext context = nullptr;
  const cudaError_t status = CALL(cuDevicePrimaryCtxRetain, &context, there);
  return status == cudaSuccess ? CALL(cuCtxEnablePeerAccess, context, flags) : status;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  CUcontext there = nullptr, here = nullptr;
  cudaError_t status = CALL(cuDevicePrimaryCtxRetain, &there, to_device);
  if (status == cudaSuccess) {
    status = CALL(cuDevicePrimaryCtxRetain, &here, from_device);
  }
  return status == cudaSuccess
             ? CALL(cuMemcpyPeerAsync, cudart::number(to), there, cudart::number(from), here, bytes, stream)
             : status;
}
cudaError_t cudaDeviceReset() {
  int device = 0;
  const cudaError_t status = cudaGetDevice(&device);
  return status == cudaSuccess ? note(cudart::driver().call_cuDevicePrimaryCtxReset(device)) : status;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* result) {
  if (result != nullptr) {
    *result = cudaDriverEntryPointSuccess;
  }
  return CALL(cuGetProcAddress, name, function, static_cast<int>(version), flags, nullptr);
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
