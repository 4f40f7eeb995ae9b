// Which device of an API a user means.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "backends/standalone_device.h"

namespace refrain::backends {

/// Numbers as `refrain bench` takes them.
struct DevicePlace {
  std::uint32_t platform = 0;
  std::uint32_t device = 0;
};

/// The chosen one, where each platform has so many devices; nothing, and `why`, if there is none. `api`: its name for
/// users. May throw std::bad_alloc.
[[nodiscard]] std::optional<DevicePlace> choose_device(const DeviceChoice& choice, const std::string& api,
                                                       std::span<const std::uint32_t> counts,
                                                       const std::function<std::string(DevicePlace)>& name_of,
                                                       std::string* why);

/// The number of the chosen one of `count` devices of an API with one platform; -1, and `why`, if there is none.
[[nodiscard]] int choose_device(const DeviceChoice& choice, const std::string& api, int count,
                                const std::function<std::string(int)>& name_of, std::string* why);

}  // namespace refrain::backends
