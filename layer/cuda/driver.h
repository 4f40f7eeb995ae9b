// The real libcuda.so.1: opened by path on the first call of any function, never earlier.
#pragma once

#include <cstdint>
#include <string>

namespace refrain::layer::cuda {

/// Loads the driver, once, whichever thread comes first, and publishes the targets of all stubs. Returns where
/// the call that came through stub `index` goes on. Called by stubs only.
void* load_driver_for(std::uint32_t index) noexcept;

/// Whether there is a real driver, and it is loaded.
[[nodiscard]] bool driver_loaded() noexcept;

/// The driver's own function with this exact exported name; null if it has none or is not loaded.
[[nodiscard]] void* real_function(const char* name) noexcept;

/// What was found, for reports. Valid once the driver is loaded.
struct DriverFacts {
  std::string path;
  int entries = 0;  ///< functions of our lists that the driver has
  int neutral = 0;  ///< of these, by class
  int host = 0;
  int typed = 0;
  int unknown = 0;  ///< functions of the driver that are in no list: host calls
};
[[nodiscard]] const DriverFacts& driver_facts() noexcept;

}  // namespace refrain::layer::cuda
