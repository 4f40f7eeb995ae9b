// The driver's functions that Refrain calls, by pointer: the layer stands in the driver's place, so nothing
// of it may be linked.
#pragma once

#include "backends/cuda/cuda_headers.h"

namespace refrain::backends {

/// Functions that the driver does not have are null; see driver_functions.def.
struct CudaDriver {
#define CUDA_FUNCTION(name) decltype(&::name) name = nullptr;
#include "backends/cuda/driver_functions.def"
#undef CUDA_FUNCTION
};

/// Fills the table with what `lookup` finds (null: not there).
void fill(CudaDriver& driver, void* (*lookup)(const char* name)) noexcept;

/// True if everything is there that recording and replaying graphs needs (CUDA 12.4 and newer). Otherwise
/// `missing` names the first function that is not.
[[nodiscard]] bool can_replay(const CudaDriver& driver, const char** missing) noexcept;

}  // namespace refrain::backends
