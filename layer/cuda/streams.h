// Streams by their handles, and what ends them.
#pragma once

#include "backends/cuda/cuda_headers.h"
#include "layer/cuda/objects.h"
#include "layer/cuda/runtime.h"
#include "layer/streams/stream_table.h"

namespace refrain::layer::cuda {

using streams::DefaultStream;

/// The same for default streams, and for streams that were never seen.
[[nodiscard]] StreamState* find_other_stream(CUstream handle, DefaultStream by_default) noexcept;

/// The record of a stream; made on first sight. Null if it cannot be known (no context, an invalid handle).
[[nodiscard]] inline StreamState* find_stream(CUstream handle, DefaultStream by_default) noexcept {
  // Those of default streams are not registered by their own handles, 0, 1 and 2, but by larger keys.
  StreamState* known = streams::find_known_stream<CudaLayer>(handle_of(handle));
  return known != nullptr ? known : find_other_stream(handle, by_default);
}

}  // namespace refrain::layer::cuda
