// This machine's CUDA driver, for programs that are no layer (bench, tests). It is opened at run time, so that
// programs start on machines that have none.
#pragma once

#include <string>

#include "backends/cuda/driver_api.h"

namespace refrain::backends::cuda {

/// Null, and `why`, if there is no driver, or one too old to replay with. Lives as long as the program.
const CudaDriver* system_driver(std::string* why);

}  // namespace refrain::backends::cuda
