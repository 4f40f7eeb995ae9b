// In which pieces a repeating stretch is best submitted to each API's devices. Knows no vendor header: who looks at a
// capture asks as well, and the policy's grid (test/policy/costs.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace refrain::backends {

/// Where the settings leave it open.
struct ChunkSizes {
  std::uint32_t first = 8;   ///< operations after a host call: small, so that the device starts soon
  std::uint32_t growth = 4;  ///< each following piece is this many times as long …
  std::uint32_t most = 128;  ///< … up to this
  std::uint32_t last = 8;    ///< and before a wait they become shorter again in the same way, down to this
  /// Instead of `most` for pieces over several queues, each of which is several short ones; 0: the same.
  std::uint32_t most_of_several = 0;
};

/// A chunk must be held before the device is done with the one in front of it, so each may be longer than the last by
/// no more than the device is slower than the host. Each launch costs the device something, and while a graph is built
/// launches of other threads wait, longer for more nodes: so there is a longest one (docs/performance.md).
inline constexpr ChunkSizes kCudaChunkSizes{8, 2, 128, 8, 256};
inline constexpr ChunkSizes kHipChunkSizes{8, 2, 256};
inline constexpr ChunkSizes kLevelZeroChunkSizes{8, 4, 256};

/// By the name that captures have for the API.
[[nodiscard]] constexpr ChunkSizes chunk_sizes_of(std::string_view api) noexcept {
  return api == "cuda"         ? kCudaChunkSizes
         : api == "hip"        ? kHipChunkSizes
         : api == "level_zero" ? kLevelZeroChunkSizes
                               : ChunkSizes();
}

}  // namespace refrain::backends
