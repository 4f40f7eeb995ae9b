// What programs ask NVIDIA's shared runtime so often that asking takes a noticeable part of their time, and what
// Refrain can do without it: which device is the calling thread's (frameworks ask that thousands of times in an
// iteration), and launches that are predicted, where the runtime would do nothing but pass them on
// (docs/decisions/0011-the-shared-runtime-is-not-asked.md). The latter are in cudart_launch.h.
//
// The runtime's device is that of the thread's context: where one is visible there is one answer, and where there are
// several, the runtime's last answer stays true while the same context is current, which the driver tells in a few
// nanoseconds. Only without a context it is the runtime alone that knows.
//
// The functions below stand in front of the runtime's own in the dynamic linker's search, under the names and the
// versions that programs linked with libcudart.so.12 or .13 ask for (cudart_names.cpp). Programs with the static
// runtime, and those that look the functions up in the library, are not concerned.
#pragma once

#include <span>

#include "backends/cuda/cuda_backend.h"
#include "env/settings.h"

namespace refrain::layer::cuda {

enum class RuntimeVersion : unsigned char { k12, k13 };

/// cudaGetDevice() of that version's runtime: a cudaError_t. A thread's first question goes to the runtime, and so does
/// every question while answers are off. Thread-safe.
int runtime_get_device(RuntimeVersion version, int* device) noexcept;

/// cudaSetDevice(), by the runtime: a cudaError_t. The thread's next question goes to the runtime, too, whatever became
/// of this call. Thread-safe.
int runtime_set_device(RuntimeVersion version, int device) noexcept;

/// A context may be gone, and its handle come back as one of another device: every thread asks anew. Thread-safe.
void context_ended() noexcept;

/// The functions of NVIDIA's that are answered here.
enum class RuntimeFunction : unsigned char { kGetDevice, kSetDevice, kLaunchKernel, kLaunchKernelPerThread };

/// The runtime's own function. Null if it is not there, which is said in the log, once: who calls us is linked with
/// that library, so it is loaded. Thread-safe.
[[nodiscard]] void* runtime_function(RuntimeVersion version, RuntimeFunction function) noexcept;

/// cudaErrorInitializationError: what is reported where the runtime's own function is not there.
inline constexpr int kInitializationError = 3;

/// What is answered, in the order of runtime_stubs.def.
[[nodiscard]] std::span<void* const> runtime_functions() noexcept;

/// From now on questions are answered, and launches are held without the runtime. Both as the settings say. `driver`
/// stays the caller's and has to live until the answers are off.
void answer_runtime(const backends::CudaDriver& driver, const env::Settings& settings) noexcept;

/// Everything goes to the runtime from now on: in a child after fork(), where CUDA says that it is not initialised, and
/// while the process ends, where the runtime may be gone.
void stop_answering_runtime() noexcept;

}  // namespace refrain::layer::cuda
