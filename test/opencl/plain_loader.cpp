// In the place of a loader: one platform with one device of OpenCL 1.2, which lists its extensions in a text only.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Values from the extension's specification: headers of different age have different sets of them.
constexpr cl_device_info kCommandBufferCapabilities = 0x12A9;
constexpr cl_bitfield kSimultaneousUse = 4;

cl_int answer(const void* told, size_t bytes, size_t size, void* value, size_t* size_ret) {
  if (value != nullptr) {
    if (size < bytes) {
      return CL_INVALID_VALUE;
    }
    std::memcpy(value, told, bytes);
  }
  if (size_ret != nullptr) {
    *size_ret = bytes;
  }
  return CL_SUCCESS;
}
cl_int answer(const char* text, size_t size, void* value, size_t* size_ret) {
  return answer(text, std::strlen(text) + 1, size, value, size_ret);
}

int something = 0;

}  // namespace

EXPORT cl_int clGetPlatformIDs(cl_uint count, cl_platform_id* platforms, cl_uint* known) {
  if (count != 0 && platforms != nullptr) {
    *platforms = reinterpret_cast<cl_platform_id>(&something);
  }
  if (known != nullptr) {
    *known = 1;
  }
  return CL_SUCCESS;
}

EXPORT cl_int clGetPlatformInfo(cl_platform_id, cl_platform_info, size_t size, void* value, size_t* size_ret) {
  return answer("plain", size, value, size_ret);
}

EXPORT cl_int clGetDeviceIDs(cl_platform_id, cl_device_type, cl_uint count, cl_device_id* devices, cl_uint* known) {
  if (count != 0 && devices != nullptr) {
    *devices = reinterpret_cast<cl_device_id>(&something);
  }
  if (known != nullptr) {
    *known = 1;
  }
  return CL_SUCCESS;
}

EXPORT cl_int clGetDeviceInfo(cl_device_id, cl_device_info name, size_t size, void* value, size_t* size_ret) {
  const cl_device_type type = CL_DEVICE_TYPE_GPU;
  switch (name) {
    case CL_DEVICE_NAME: return answer("old device", size, value, size_ret);
    case CL_DEVICE_VERSION: return answer("OpenCL 1.2", size, value, size_ret);
    case CL_DRIVER_VERSION: return answer("1", size, value, size_ret);
    case CL_DEVICE_TYPE: return answer(&type, sizeof(type), size, value, size_ret);
    case CL_DEVICE_EXTENSIONS: return answer("cl_khr_icd cl_khr_command_buffer ", size, value, size_ret);
    case kCommandBufferCapabilities: return answer(&kSimultaneousUse, sizeof(kSimultaneousUse), size, value, size_ret);
    default: return CL_INVALID_VALUE;
  }
}
