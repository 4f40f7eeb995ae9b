// The real driver's functions, typed: `driver.cuLaunchKernel(…)`. Calls through it are seen by nobody.
#pragma once

#include "layer/cuda/cuda_headers.h"

namespace refrain::layer::cuda {

struct DriverFunctions {
#define ENTRY(f) decltype(&::f) f;
#include "layer/cuda/entry_points.def"
#undef ENTRY
};

/// Written once, before any typed function can be called. No entry is null: a function that this driver lacks
/// is one that reports CUDA_ERROR_NOT_SUPPORTED, and all of them report CUDA_ERROR_NO_DEVICE if there is no
/// driver. Whether the driver has a function says real_library.function().
extern DriverFunctions driver;

}  // namespace refrain::layer::cuda
