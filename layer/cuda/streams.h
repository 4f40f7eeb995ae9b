// Streams by their handles, and what ends them.
#pragma once

#include "backends/cuda/cuda_headers.h"
#include "layer/cuda/objects.h"
#include "replay/engine.h"

namespace refrain::layer::cuda {

/// Which default stream a function means by 0.
enum class DefaultStream : bool { kLegacy, kPerThread };

/// The record of a stream; made on first sight. Null if it cannot be known (no context, an invalid handle).
[[nodiscard]] StreamState* find_stream(CUstream handle, DefaultStream by_default) noexcept;

/// To be called before work is submitted to `stream` or waited for: what other threads hold and must come first
/// is flushed.
void settle(replay::Engine& running, StreamState& stream) noexcept;

}  // namespace refrain::layer::cuda
