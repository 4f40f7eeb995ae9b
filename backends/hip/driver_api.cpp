#include "backends/hip/driver_api.h"

#include <initializer_list>

namespace refrain::backends {

void fill(HipDriver& driver, void* (*lookup)(const char* name)) noexcept {
#define HIP_FUNCTION(name) driver.name = reinterpret_cast<decltype(driver.name)>(lookup(#name));
#include "backends/hip/driver_functions.def"
#undef HIP_FUNCTION
}

namespace {

struct Named {
  const char* name;
  const void* function;
};

bool has(std::initializer_list<Named> all, const char** missing) noexcept {
  for (const auto& [name, function] : all) {
    if (function == nullptr) {
      *missing = name;
      return false;
    }
  }
  return true;
}

std::string version_text(int version) {
  return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100) + "." +
         std::to_string(version % 100000);
}

}  // namespace

bool has_everything(const HipDriver& driver, const char** missing) noexcept {
#define HIP_OPTIONAL(name)
#define HIP_FUNCTION(name) {#name, reinterpret_cast<const void*>(driver.name)},
  return has(
      {
#include "backends/hip/driver_functions.def"
      },
      missing);
#undef HIP_FUNCTION
}

bool can_stand_alone(const HipDriver& driver, const char** missing) noexcept {
#define HIP_OPTIONAL(name)
#define HIP_FUNCTION(name)
#define HIP_STANDALONE(name) {#name, reinterpret_cast<const void*>(driver.name)},
  return has(
      {
#include "backends/hip/driver_functions.def"
      },
      missing);
#undef HIP_FUNCTION
}

std::string why_unusable(HipDriver& driver) {
  const char* missing = nullptr;
  int version = 0;
  if (driver.hipRuntimeGetVersion == nullptr || driver.hipGetLastError == nullptr) {
    return "the runtime tells no version";
  }
  const hipError_t status = quiet(driver, driver.hipRuntimeGetVersion(&version));
  if (status != hipSuccess) {
    return "the runtime does not work (error " + std::to_string(status) + ")";
  }
  if (version < kOldestHip) {
    return "the runtime is HIP " + version_text(version) +
           ", older than that of ROCm 5.5.1, whose graphs can be changed";
  }
  if (!has_everything(driver, &missing)) {
    return "the runtime (HIP " + version_text(version) + ") has no " + missing;
  }
  driver.version = version;
  return {};
}

}  // namespace refrain::backends
