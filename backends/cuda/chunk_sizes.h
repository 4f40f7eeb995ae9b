// How long chunks are for CUDA. Knows no vendor header, for the policy's grid (test/policy/costs.h).
#pragma once

#include "backends/backend.h"

namespace refrain::backends {

/// A chunk must be held before the device is done with the one in front of it, so each may be longer than the last by
/// no more than the device is slower than the host. Each launch costs the device something, and while a graph is built
/// launches of other threads wait, longer for more nodes: so there is a longest one (docs/performance.md).
inline constexpr ChunkSizes kCudaChunkSizes{8, 2, 128, 8, 256};

}  // namespace refrain::backends
