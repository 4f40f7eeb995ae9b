// The last error of a thread, which hipGetLastError() tells: what it would be if every call had reached the runtime at
// once. What Refrain calls on its own account leaves no error there (quiet() in backends/hip/driver_api.h).
#pragma once

namespace refrain::layer::hip {

/// Whether the runtime is of the kind (from ROCm 7 on) in which a call that succeeds leaves an earlier error alone.
extern bool keeps_errors;

}  // namespace refrain::layer::hip
