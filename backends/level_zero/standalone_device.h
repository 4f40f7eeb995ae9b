// Objects of a capture, made again with this machine's Level Zero.
#pragma once

#include "backends/standalone_device.h"

namespace refrain::backends::level_zero {

std::unique_ptr<StandaloneDevice> open_device(const DeviceChoice& choice, std::string* why);

}  // namespace refrain::backends::level_zero
