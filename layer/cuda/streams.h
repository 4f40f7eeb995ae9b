// Streams by their handles, and what ends them.
#pragma once

#include "backends/cuda/cuda_headers.h"
#include "layer/cuda/objects.h"
#include "layer/cuda/runtime.h"
#include "layer/streams/stream_table.h"

namespace refrain::layer::cuda {

using streams::DefaultStream;

/// The record of a stream; made on first sight. Null if it cannot be known (no context, an invalid handle).
[[nodiscard]] inline StreamState* find_stream(CUstream handle, DefaultStream by_default) noexcept {
  return streams::find_stream<CudaLayer>(handle, by_default);
}

}  // namespace refrain::layer::cuda
