// Kernels: CUfunction and CUkernel handles, which cuLaunchKernel takes alike.
#pragma once

#include "backends/cuda/cuda_headers.h"
#include "layer/cuda/objects.h"

namespace refrain::layer::cuda {

/// Makes the record of a kernel that was not found. Null if there is no memory.
[[nodiscard]] const FunctionState* adopt_function(CUfunction handle) noexcept;

/// The record of a kernel; made on first sight. Null if there is no memory.
[[nodiscard]] inline const FunctionState* find_function(CUfunction handle) noexcept {
  const FunctionState* known = objects.functions.find(handle_of(handle));
  return known != nullptr ? known : adopt_function(handle);
}

}  // namespace refrain::layer::cuda
