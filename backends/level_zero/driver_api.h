// The driver's functions that Refrain calls, by pointer: the layer stands between loader and driver, so nothing of the
// loader may be linked.
#pragma once

#include "backends/level_zero/level_zero_headers.h"

namespace refrain::backends {

/// Functions that the driver does not have are null.
struct LevelZeroDriver {
#define LEVEL_ZERO_FUNCTION(name) decltype(&::name) name = nullptr;
#include "backends/level_zero/driver_functions.def"
#undef LEVEL_ZERO_FUNCTION
  decltype(&::zeKernelSetGlobalOffsetExp) zeKernelSetGlobalOffsetExp = nullptr;  ///< an extension: may be missing
  // What only comparing needs.
  decltype(&::zeCommandListCreateImmediate) zeCommandListCreateImmediate = nullptr;
  decltype(&::zeMemAllocHost) zeMemAllocHost = nullptr;
  decltype(&::zeMemFree) zeMemFree = nullptr;
  decltype(&::zeModuleGetGlobalPointer) zeModuleGetGlobalPointer = nullptr;
};

/// Fills the table with what `lookup` finds (null: not there).
void fill(LevelZeroDriver& driver, void* (*lookup)(const char* name)) noexcept;

/// True if everything is there that recording and replaying needs. Otherwise `missing` names the first that is not.
[[nodiscard]] bool can_replay(const LevelZeroDriver& driver, const char** missing) noexcept;

/// True if everything is there that comparing memory needs besides.
[[nodiscard]] bool can_compare(const LevelZeroDriver& driver) noexcept;

/// Destroys an object of Refrain's own. A driver that could not is asked again: what is left would keep the program
/// from destroying the context that it is in. (After other errors the object may be gone.)
template <class Handle>
void destroy_object(ze_result_t (*destroy)(Handle), Handle handle) noexcept {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const ze_result_t status = destroy(handle);
    if (status != ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY && status != ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY &&
        status != ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE) {
      return;
    }
  }
}

/// "ZE_RESULT_ERROR_DEVICE_LOST" and the like. Static lifetime.
[[nodiscard]] const char* error_name(ze_result_t code) noexcept;

}  // namespace refrain::backends
