// This machine's HIP runtime, for programs that are no layer (bench, tests). It is opened at run time, so that programs
// start on machines that have none.
#pragma once

#include <string>

#include "backends/hip/driver_api.h"

namespace refrain::backends::hip {

/// Null, and `why`, if `path` is no runtime, or one that cannot be replayed with. The first one that is opened is that
/// of the process, whatever is asked for later; it lives as long.
const HipDriver* system_runtime(const std::string& path, std::string* why);

}  // namespace refrain::backends::hip
