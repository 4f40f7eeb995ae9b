// Kernel objects: identity, and arguments as they go into records.
#pragma once

#include "layer/opencl/objects.h"

namespace refrain::layer::opencl {

/// The kernel's record, or null. As fast as can be for the kernel this thread used last.
[[nodiscard]] KernelState* find_kernel(cl_kernel kernel) noexcept;

/// Why launches of the kernel are not held, or null.
[[nodiscard]] const char* unholdable_kernel(const KernelState& kernel) noexcept;

/// An argument was set to a unified shared memory pointer (cl_intel_unified_shared_memory).
void track_usm_pointer(cl_kernel kernel, cl_uint index, const void* pointer) noexcept;

}  // namespace refrain::layer::opencl
