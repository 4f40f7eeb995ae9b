#include "backends/device_choice.h"

namespace refrain::backends {
namespace {

/// "; here: 0 'One', 1 'Another'", with the platform in front where there are several.
std::string list_of(std::span<const std::uint32_t> counts, const std::function<std::string(DevicePlace)>& name_of) {
  std::string text;
  for (std::uint32_t platform = 0; platform < counts.size(); ++platform) {
    for (std::uint32_t device = 0; device < counts[platform]; ++device) {
      text += (text.empty() ? "; here: " : ", ") + (counts.size() == 1 ? "" : std::to_string(platform) + ".") +
              std::to_string(device) + " '" + name_of({platform, device}) + "'";
    }
  }
  return text;
}

}  // namespace

std::optional<DevicePlace> choose_device(const DeviceChoice& choice, const std::string& api,
                                         std::span<const std::uint32_t> counts,
                                         const std::function<std::string(DevicePlace)>& name_of, std::string* why) {
  if (choice.name.empty() && choice.platform < counts.size() && choice.device < counts[choice.platform]) {
    return DevicePlace{choice.platform, choice.device};
  }
  for (std::uint32_t platform = 0; !choice.name.empty() && platform < counts.size(); ++platform) {
    for (std::uint32_t device = 0; device < counts[platform]; ++device) {
      if (name_of({platform, device}).find(choice.name) != std::string::npos) {
        return DevicePlace{platform, device};
      }
    }
  }
  if (!choice.name.empty()) {
    *why = "no " + api + " device here has '" + choice.name + "' in its name" + list_of(counts, name_of);
  } else if (choice.platform >= counts.size()) {
    *why = api + (counts.size() == 1 ? " has one platform, number 0"
                                     : " has " + std::to_string(counts.size()) + " platforms, numbered from 0");
  } else {
    *why = "this machine has no " + api + " device " + std::to_string(choice.device) + ", only " +
           std::to_string(counts[choice.platform]) +
           (counts.size() == 1 ? "" : " on platform " + std::to_string(choice.platform)) + list_of(counts, name_of);
  }
  return std::nullopt;
}

int choose_device(const DeviceChoice& choice, const std::string& api, int count,
                  const std::function<std::string(int)>& name_of, std::string* why) {
  const auto devices = static_cast<std::uint32_t>(count < 0 ? 0 : count);
  const std::optional<DevicePlace> chosen = choose_device(
      choice, api, std::span(&devices, 1), [&](DevicePlace place) { return name_of(static_cast<int>(place.device)); },
      why);
  return chosen ? static_cast<int>(chosen->device) : -1;
}

}  // namespace refrain::backends
