// A dispatch table of this machine's OpenCL loader: for programs that are no layer (bench, tests). The
// loader is opened at run time, so that programs start on machines that have none.
#pragma once

#include "backends/opencl/opencl_headers.h"

namespace refrain::backends::opencl {

/// The entries that backends/opencl uses; all others, and those the loader lacks, are null. Null if there is
/// no loader. Lives as long as the program.
const cl_icd_dispatch* system_dispatch();

}  // namespace refrain::backends::opencl
