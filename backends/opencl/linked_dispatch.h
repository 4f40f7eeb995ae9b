// A dispatch table of the OpenCL library that this program is linked with: for programs that are no layer
// (bench, tests).
#pragma once

#include "backends/opencl/opencl_headers.h"

namespace refrain::backends::opencl {

/// The entries that backends/opencl uses; all others are null. Lives as long as the program.
const cl_icd_dispatch& linked_dispatch();

}  // namespace refrain::backends::opencl
