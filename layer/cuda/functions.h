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

/// A module is about to be unloaded (streams::kAnyModule: several, or a library): no record of its kernels is kept, nor
/// of those of which nobody knows where they are from, and graphs that name them are dropped.
void forget_functions(std::uint64_t module) noexcept;

/// For reports; empty if unknown.
[[nodiscard]] std::string name_of_function(capture::FunctionId function) noexcept;

}  // namespace refrain::layer::cuda
