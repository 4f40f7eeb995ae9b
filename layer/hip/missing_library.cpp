#include "layer/hip/missing_library.h"

#include <cstring>

#include "backends/hip/hip_headers.h"

namespace refrain::layer::hip {
namespace {

// Called with any arguments: on x86-64 the caller cleans up, so that it need not know them.
hipError_t no_device() noexcept {
  return hipErrorNoDevice;
}
hipError_t not_supported() noexcept {
  return hipErrorNotSupported;
}
hipError_t not_ready() noexcept {
  return hipErrorNotInitialized;
}
void nothing() noexcept {}

hipError_t no_number(int* number) noexcept {
  if (number != nullptr) {
    *number = 0;
  }
  return hipErrorNoDevice;
}

// Constructors of programs call these, and use what they get.
void** no_modules() noexcept {
  static void* modules = nullptr;
  return &modules;
}

const char* no_text() noexcept {
  return "there is no HIP runtime";
}
const char* error_text(hipError_t error) noexcept {
  return error == hipSuccess ? "hipSuccess" : "hipErrorNoDevice";
}

struct Special {
  const char* name;
  void* function;
};
const Special specials[] = {
    {"hipDriverGetVersion", reinterpret_cast<void*>(&no_number)},
    {"hipRuntimeGetVersion", reinterpret_cast<void*>(&no_number)},
    {"hipGetDeviceCount", reinterpret_cast<void*>(&no_number)},
    {"hipGetErrorName", reinterpret_cast<void*>(&error_text)},
    {"hipGetErrorString", reinterpret_cast<void*>(&error_text)},
};
// What does not report errors, with or without a library.
const Special without_errors[] = {
    {"__hipRegisterFatBinary", reinterpret_cast<void*>(&no_modules)},
    {"__hipRegisterFunction", reinterpret_cast<void*>(&nothing)},
    {"__hipRegisterVar", reinterpret_cast<void*>(&nothing)},
    {"__hipRegisterManagedVar", reinterpret_cast<void*>(&nothing)},
    {"__hipRegisterSurface", reinterpret_cast<void*>(&nothing)},
    {"__hipRegisterTexture", reinterpret_cast<void*>(&nothing)},
    {"__hipUnregisterFatBinary", reinterpret_cast<void*>(&nothing)},
    {"hipApiName", reinterpret_cast<void*>(&no_text)},
    {"hipGetCmdName", reinterpret_cast<void*>(&no_text)},
    {"hipKernelNameRef", reinterpret_cast<void*>(&no_text)},
    {"hipKernelNameRefByPtr", reinterpret_cast<void*>(&no_text)},
    {"hiprtcGetErrorString", reinterpret_cast<void*>(&no_text)},
    {"amd_dbgapi_get_build_name", reinterpret_cast<void*>(&no_text)},
    {"amd_dbgapi_get_git_hash", reinterpret_cast<void*>(&no_text)},
};

}  // namespace

void* missing_function(const char* name) noexcept {
  for (const Special& special : without_errors) {
    if (std::strcmp(name, special.name) == 0) {
      return special.function;
    }
  }
  return reinterpret_cast<void*>(&not_supported);
}

void* no_library_function(const char* name) noexcept {
  for (const Special& special : specials) {
    if (name != nullptr && std::strcmp(name, special.name) == 0) {
      return special.function;
    }
  }
  void* function = name == nullptr ? nullptr : missing_function(name);
  return function == nullptr || function == reinterpret_cast<void*>(&not_supported)
             ? reinterpret_cast<void*>(&no_device)
             : function;
}

void* not_ready_function() noexcept {
  return reinterpret_cast<void*>(&not_ready);
}

}  // namespace refrain::layer::hip
