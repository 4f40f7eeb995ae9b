#include "backends/hip/driver_api.h"

#include <initializer_list>
#include <utility>

namespace refrain::backends {

void fill(HipDriver& driver, void* (*lookup)(const char* name)) noexcept {
#define HIP_FUNCTION(name) driver.name = reinterpret_cast<decltype(driver.name)>(lookup(#name));
#include "backends/hip/driver_functions.def"
#undef HIP_FUNCTION
}

bool has_everything(const HipDriver& driver, const char** missing) noexcept {
#define HIP_OPTIONAL(name)
  const std::initializer_list<std::pair<const char*, const void*>> all = {
#define HIP_FUNCTION(name) {#name, reinterpret_cast<const void*>(driver.name)},
#include "backends/hip/driver_functions.def"
#undef HIP_FUNCTION
  };
  for (const auto& [name, function] : all) {
    if (function == nullptr) {
      *missing = name;
      return false;
    }
  }
  return true;
}

}  // namespace refrain::backends
