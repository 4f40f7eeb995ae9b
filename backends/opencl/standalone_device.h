// Objects of a capture, made again with this machine's OpenCL.
#pragma once

#include "backends/standalone_device.h"

namespace refrain::backends::opencl {

std::unique_ptr<StandaloneDevice> open_device(const DeviceChoice& choice, std::string* why);

}  // namespace refrain::backends::opencl
