#include "backends/level_zero/driver_api.h"

namespace refrain::backends {

void fill(LevelZeroDriver& driver, void* (*lookup)(const char* name)) noexcept {
#define LEVEL_ZERO_FUNCTION(name) driver.name = reinterpret_cast<decltype(driver.name)>(lookup(#name));
#include "backends/level_zero/driver_functions.def"
  LEVEL_ZERO_FUNCTION(zeKernelSetGlobalOffsetExp)
  LEVEL_ZERO_FUNCTION(zeCommandListCreateImmediate)
  LEVEL_ZERO_FUNCTION(zeMemAllocHost)
  LEVEL_ZERO_FUNCTION(zeMemFree)
  LEVEL_ZERO_FUNCTION(zeModuleGetGlobalPointer)
#undef LEVEL_ZERO_FUNCTION
}

bool can_replay(const LevelZeroDriver& driver, const char** missing) noexcept {
#define LEVEL_ZERO_FUNCTION(name) \
  if (driver.name == nullptr) {   \
    *missing = #name;             \
    return false;                 \
  }
#include "backends/level_zero/driver_functions.def"
#undef LEVEL_ZERO_FUNCTION
  return true;
}

bool can_compare(const LevelZeroDriver& driver) noexcept {
  return driver.zeCommandListCreateImmediate != nullptr && driver.zeMemAllocHost != nullptr &&
         driver.zeMemFree != nullptr && driver.zeModuleGetGlobalPointer != nullptr;
}

const char* error_name(ze_result_t code) noexcept {
  switch (static_cast<unsigned>(code)) {
    case ZE_RESULT_SUCCESS: return "ZE_RESULT_SUCCESS";
    case ZE_RESULT_NOT_READY: return "ZE_RESULT_NOT_READY";
    case ZE_RESULT_ERROR_DEVICE_LOST: return "ZE_RESULT_ERROR_DEVICE_LOST";
    case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY: return "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY";
    case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY: return "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY";
    case ZE_RESULT_ERROR_MODULE_BUILD_FAILURE: return "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE";
    case ZE_RESULT_ERROR_UNINITIALIZED: return "ZE_RESULT_ERROR_UNINITIALIZED";
    case ZE_RESULT_ERROR_UNSUPPORTED_VERSION: return "ZE_RESULT_ERROR_UNSUPPORTED_VERSION";
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE: return "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE";
    case ZE_RESULT_ERROR_INVALID_ARGUMENT: return "ZE_RESULT_ERROR_INVALID_ARGUMENT";
    case ZE_RESULT_ERROR_INVALID_NULL_HANDLE: return "ZE_RESULT_ERROR_INVALID_NULL_HANDLE";
    case ZE_RESULT_ERROR_INVALID_NULL_POINTER: return "ZE_RESULT_ERROR_INVALID_NULL_POINTER";
    case ZE_RESULT_ERROR_INVALID_SIZE: return "ZE_RESULT_ERROR_INVALID_SIZE";
    case ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE: return "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE";
    default: return "unknown Level Zero error";
  }
}

}  // namespace refrain::backends
