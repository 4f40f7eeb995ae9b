// Capture mode only: tells the recorder of devices.
#pragma once

#include "layer/cuda/objects.h"

namespace refrain::layer::cuda {

/// The number that the device of a context has in the capture; told on first sight.
[[nodiscard]] ObjectId record_device(CUcontext context);

}  // namespace refrain::layer::cuda
