// Kernels: functions of modules (hipFunction_t), and functions of the program, which clang registers by their address
// before main().
#pragma once

#include <string>

#include "layer/hip/runtime.h"

namespace refrain::layer::hip {

/// The record of a kernel, by either kind of handle; made on first sight. Null if there is no memory.
[[nodiscard]] const FunctionState* find_function(const void* handle) noexcept;

/// Verify mode only: adds the variables of all code whose kernels may be in graphs to the inventory. Asks the runtime.
/// May throw std::bad_alloc.
void add_variables();

}  // namespace refrain::layer::hip
