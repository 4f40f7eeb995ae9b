// A question that programs ask NVIDIA's shared runtime so often that asking takes a noticeable part of their time, and
// that has only one answer: which device is the calling thread's, where one is visible. PyTorch asks it 1800 times in
// an iteration of an encoder, for 60 to 110 ns each (docs/performance.md).
//
// The functions below stand in front of the runtime's cudaGetDevice() in the dynamic linker's search, under the name
// and the versions that programs linked with libcudart.so.12 or .13 ask for (cudart_names.cpp). Programs with the
// static runtime, and those that look the function up in the library, are not concerned.
#pragma once

#include "backends/cuda/cuda_backend.h"

namespace refrain::layer::cuda {

enum class RuntimeVersion : unsigned char { k12, k13 };

/// cudaGetDevice() of that version's runtime: a cudaError_t. A thread's first question goes to the runtime, and so does
/// every question while answers are off. Thread-safe.
int runtime_get_device(RuntimeVersion version, int* device) noexcept;

/// From now on questions are answered if `driver` says that one device is visible: which ones are is decided when it is
/// initialised. `driver` stays the caller's and has to live until the answers are off.
void answer_runtime(const backends::CudaDriver& driver) noexcept;

/// Every question goes to the runtime from now on: in a child after fork(), where CUDA says that it is not initialised,
/// and while the process ends, where the runtime may be gone.
void stop_answering_runtime() noexcept;

}  // namespace refrain::layer::cuda
