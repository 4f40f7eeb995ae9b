// Kernels: functions of modules (hipFunction_t), and functions of the program, which clang registers by their address
// before main().
#pragma once

#include <string>

#include "layer/hip/runtime.h"

namespace refrain::layer::hip {

/// The record of a kernel, by either kind of handle; made on first sight. Null if there is no memory.
[[nodiscard]] const FunctionState* find_function(const void* handle) noexcept;

}  // namespace refrain::layer::hip
