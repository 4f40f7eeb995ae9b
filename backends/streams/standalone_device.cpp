#include "backends/streams/standalone_device.h"

namespace refrain::backends {

int choose_device(const DeviceChoice& choice, const std::string& api, int count,
                  const std::function<std::string(int)>& name_of, std::string* why) {
  for (int number = 0; number < count; ++number) {
    if (choice.name.empty() ? choice.platform == 0 && static_cast<std::uint32_t>(number) == choice.device
                            : name_of(number).find(choice.name) != std::string::npos) {
      return number;
    }
  }
  if (!choice.name.empty()) {
    *why = "no " + api + " device here has '" + choice.name + "' in its name; `refrain doctor` lists them";
  } else if (choice.platform != 0) {
    *why = api + " has one platform, number 0";
  } else {
    *why = "this machine has no " + api + " device " + std::to_string(choice.device) + ", only " +
           std::to_string(count) + "; `refrain doctor` lists them";
  }
  return -1;
}

}  // namespace refrain::backends
