// The functions of HIP's runtime that Refrain calls, by pointer: the layer stands in the runtime's place, so nothing
// of it may be linked.
#pragma once

#include <string>

#include "backends/hip/hip_headers.h"

namespace refrain::backends {

/// Functions that the runtime does not have are null; see driver_functions.def.
struct HipDriver {
  int version = 0;  ///< as hipRuntimeGetVersion() tells it
#define HIP_FUNCTION(name) decltype(&::name) name = nullptr;
#include "backends/hip/driver_functions.def"
#undef HIP_FUNCTION
};

/// Fills the table with what `lookup` finds (null: not there).
void fill(HipDriver& driver, void* (*lookup)(const char* name)) noexcept;

/// The oldest runtime whose graphs can be relied upon, as hipRuntimeGetVersion() tells it: that of ROCm 5.5.1.
inline constexpr int kOldestHip = 50530202;
/// From this one on types of memory have other numbers.
inline constexpr int kHipRenumbersMemory = 60000000;
/// From this one on a call that succeeds leaves the thread's last error alone; before, it clears it.
inline constexpr int kHipKeepsErrors = 70000000;

/// True if everything is there that recording and replaying graphs needs. Otherwise `missing` names the first function
/// that is not.
[[nodiscard]] bool has_everything(const HipDriver& driver, const char** missing) noexcept;

/// The same of what a program needs that is no layer.
[[nodiscard]] bool can_stand_alone(const HipDriver& driver, const char** missing) noexcept;

/// Why nothing can be replayed with this runtime ("the runtime …"); empty: it can, and HipDriver::version is known
/// then.
[[nodiscard]] std::string why_unusable(HipDriver& driver);

/// What a call of Refrain's own has done to the last error of the thread is undone: nobody is told of it.
inline hipError_t quiet(const HipDriver& driver, hipError_t status) noexcept {
  if (status != hipSuccess) {
    static_cast<void>(driver.hipGetLastError());
  }
  return status;
}

}  // namespace refrain::backends
