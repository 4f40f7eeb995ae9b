// Kernels have handles of two kinds, CUfunction and CUkernel, which launches take alike and nothing else does. Which
// one a handle is cannot be seen; asking the driver is an error for one of them, which tools that watch the driver's
// calls (compute-sanitizer) show to the user. So it is noted where handles are given out.
#pragma once

#include "backends/cuda/driver_api.h"

namespace refrain::backends {

enum class FunctionKind : unsigned char { kFunction, kKernel };

/// The driver has given out `handle` as one of this kind. Handles come back for other objects: the newest counts.
/// Thread-safe; without memory nothing is noted.
void note_function_kind(const void* handle, FunctionKind kind) noexcept;

/// What `function` really is; the driver is asked about handles that nobody noted. Thread-safe.
[[nodiscard]] FunctionKind kind_of(const CudaDriver& driver, CUfunction function) noexcept;

}  // namespace refrain::backends
