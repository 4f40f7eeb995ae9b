// Start, errors, one device.
#include <cstdio>
#include <cstring>

#include "test/cuda/fake_driver/fake_driver.h"

namespace fake {
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

}  // namespace

}  // namespace fake

FAKE cuInit(unsigned) {
  fake::log("cuInit");
  return fake::initialise();
}
FAKE cuDriverGetVersion(int* version) {
  fake::log("cuDriverGetVersion");
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
FAKE cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR_OF_SOME_KIND";
  return CUDA_SUCCESS;
}
FAKE cuDeviceGetCount(int* count) {
  fake::log("cuDeviceGetCount");
  *count = 1;
  return CUDA_SUCCESS;
}
FAKE cuDeviceGet(CUdevice* device, int number) {
  fake::log("cuDeviceGet");
  *device = number;
  return number == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FAKE cuDeviceGetName(char* name, int bytes, CUdevice) {
  fake::log("cuDeviceGetName");
  std::snprintf(name, static_cast<std::size_t>(bytes), "Fake device");
  return CUDA_SUCCESS;
}
FAKE cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  fake::log("cuDeviceTotalMem_v2");
  *bytes = std::size_t{1} << 30U;
  return CUDA_SUCCESS;
}
FAKE cuDeviceGetUuid(CUuuid* id, CUdevice) {
  fake::log("cuDeviceGetUuid");
  std::memset(id, 1, sizeof(*id));
  return CUDA_SUCCESS;
}
FAKE cuDeviceGetUuid_v2(CUuuid* id, CUdevice) {
  fake::log("cuDeviceGetUuid_v2");
  std::memset(id, 1, sizeof(*id));
  return CUDA_SUCCESS;
}
FAKE cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  fake::logf("cuDeviceGetAttribute %d", static_cast<int>(attribute));
  *value = fake::attribute_value(attribute);
  return CUDA_SUCCESS;
}
