// Kernels: CUfunction and CUkernel handles, which cuLaunchKernel takes alike.
#pragma once

#include <string>

#include "backends/cuda/cuda_headers.h"
#include "layer/cuda/objects.h"

namespace refrain::layer::cuda {

/// Makes the record of a kernel that was not found.
[[nodiscard]] const FunctionState* adopt_function(CUfunction handle) noexcept;

/// The record of a kernel; made on first sight. Null if there is no memory.
[[nodiscard]] inline const FunctionState* find_function(CUfunction handle) noexcept {
  const FunctionState* known = objects.functions.find(handle_of(handle));
  return known != nullptr ? known : adopt_function(handle);
}

/// Modules are about to be unloaded: no record is kept, and graphs that name their kernels are dropped. (Which
/// kernels are concerned is not known; unloading is rare.)
void forget_functions() noexcept;

/// For reports; empty if unknown.
[[nodiscard]] std::string name_of_function(capture::FunctionId function) noexcept;

}  // namespace refrain::layer::cuda
