// Start, errors, one device.
#include <cstdio>
#include <cstring>

#include "test/sim/cuda/face.h"

namespace sim::cuda {
namespace {

// What the runtime API reads of a device; everything else is 1.
int attribute_value(CUdevice_attribute attribute) noexcept {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return 0;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return 1024;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return 132;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
    default: return 1;
  }
}

/// Those that this driver gives; null for others.
const char* name_of(CUresult error) noexcept {
#define NAME(error) \
  case error: return #error;
  switch (error) {
    NAME(CUDA_SUCCESS)
    NAME(CUDA_ERROR_INVALID_VALUE)
    NAME(CUDA_ERROR_OUT_OF_MEMORY)
    NAME(CUDA_ERROR_NOT_INITIALIZED)
    NAME(CUDA_ERROR_INVALID_DEVICE)
    NAME(CUDA_ERROR_INVALID_CONTEXT)
    NAME(CUDA_ERROR_INVALID_HANDLE)
    NAME(CUDA_ERROR_ILLEGAL_STATE)
    NAME(CUDA_ERROR_NOT_FOUND)
    NAME(CUDA_ERROR_NOT_READY)
    NAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    NAME(CUDA_ERROR_CONTEXT_IS_DESTROYED)
    NAME(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
    NAME(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
    NAME(CUDA_ERROR_NOT_SUPPORTED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_MERGE)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
    NAME(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    NAME(CUDA_ERROR_CAPTURED_EVENT)
    NAME(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    NAME(CUDA_ERROR_TIMEOUT)
    NAME(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
    default: return nullptr;
  }
#undef NAME
}

}  // namespace

}  // namespace sim::cuda

FACE cuInit(unsigned) {
  sim::log("cuInit");
  return sim::start() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
FACE cuDriverGetVersion(int* version) {
  sim::log("cuDriverGetVersion");
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
FACE cuGetErrorName(CUresult error, const char** text) {
  *text = sim::cuda::name_of(error);
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FACE cuGetErrorString(CUresult error, const char** text) {
  const bool known = sim::cuda::name_of(error) != nullptr;
  *text = !known ? nullptr : error == CUDA_SUCCESS ? "no error" : "an error of the simulated device";
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FACE cuDeviceGetCount(int* count) {
  sim::log("cuDeviceGetCount");
  *count = sim::settings().devices;
  return CUDA_SUCCESS;
}
FACE cuDeviceGet(CUdevice* device, int number) {
  sim::log("cuDeviceGet");
  *device = number;
  return number >= 0 && number < sim::settings().devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FACE cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice there) {
  sim::log("cuDeviceCanAccessPeer");
  *can = device == there ? 0 : 1;
  return CUDA_SUCCESS;
}
FACE cuDeviceGetName(char* name, int bytes, CUdevice) {
  sim::log("cuDeviceGetName");
  std::snprintf(name, static_cast<std::size_t>(bytes), "Simulated device");
  return CUDA_SUCCESS;
}
FACE cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  sim::log("cuDeviceTotalMem_v2");
  *bytes = std::size_t{1} << 30U;
  return CUDA_SUCCESS;
}
FACE cuDeviceGetUuid(CUuuid* id, CUdevice) {
  sim::log("cuDeviceGetUuid");
  std::memset(id, 1, sizeof(*id));
  return CUDA_SUCCESS;
}
FACE cuDeviceGetUuid_v2(CUuuid* id, CUdevice) {
  sim::log("cuDeviceGetUuid_v2");
  std::memset(id, 1, sizeof(*id));
  return CUDA_SUCCESS;
}
FACE cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  sim::logf("cuDeviceGetAttribute %d", static_cast<int>(attribute));
  *value = sim::cuda::attribute_value(attribute);
  return CUDA_SUCCESS;
}
