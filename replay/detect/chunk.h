// The words in which a lane and its matcher speak of chunks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capture/operation.h"

namespace refrain::replay {

using capture::Token;
using ChunkId = std::uint32_t;
inline constexpr ChunkId kNoChunk = ~ChunkId{0};  // format

/// A chunk is a stretch of a repeating sequence that is submitted at once. It contains no cuts.
enum class ChunkMode : std::uint8_t {
  kRecord = 0,  ///< not built yet: its operations are issued, and reported so that it can be built
  kBypass = 1,  ///< being built, declined or retired: its operations are issued, only counted
  kHold = 2,    ///< ready: its operations are held and launched together
};

struct Action {
  enum class Kind : std::uint8_t {
    kIssue,   ///< issue the `count` oldest held operations eagerly
    kLaunch,  ///< launch `chunk`, which is exactly the `count` oldest held operations
  };
  Kind kind = Kind::kIssue;
  std::uint32_t count = 0;
  ChunkId chunk = kNoChunk;
};

/// Where the newest operation stands in a chunk that is not held (kRecord or kBypass).
struct Following {
  ChunkId chunk = kNoChunk;             ///< kNoChunk: in none
  std::uint32_t position = 0;           ///< of the newest operation in the chunk, from 0
  bool complete = false;                ///< it was the last one of the chunk
  ChunkMode mode = ChunkMode::kBypass;  ///< the mode this occurrence was entered with
};

/// The chunk that everything held belongs to.
struct Holding {
  ChunkId chunk = kNoChunk;  ///< kNoChunk: nothing is held
  std::uint32_t count = 0;   ///< operations of it that are held: its first ones
  std::uint32_t length = 0;  ///< operations it has
};

/// One plan to divide a stretch between two cuts into chunks.
struct ChunkLengths {
  std::uint32_t first = 8;   ///< operations in the first chunk after a cut
  std::uint32_t growth = 4;  ///< each following chunk is this much longer …
  std::uint32_t most = 128;  ///< … up to this
  std::uint32_t last = 0;  ///< operations in the last chunk before a wait, those before it longer; 0: what is left over
  friend bool operator==(const ChunkLengths&, const ChunkLengths&) = default;
};
/// Of a plan that is not there.
inline constexpr ChunkLengths kNoLengths{0, 0, 0, 0};
/// Plans that can be known at once.
inline constexpr std::uint32_t kChunkPlans = 4;  // format

struct MatcherOptions {
  std::uint32_t chunk_first = 8;        ///< operations in the first chunk after a cut
  std::uint32_t chunk_growth = 4;       ///< each following chunk is this much longer …
  std::uint32_t chunk_cap = 128;        ///< … up to this; nothing is ever held beyond it
  std::uint32_t chunk_last = 0;         ///< operations in the last chunk before a wait; 0: what is left over
  std::uint32_t history = 1U << 16U;    ///< tokens remembered (bounds the longest period found)
  std::uint32_t max_nodes = 1U << 17U;  ///< bound on the trie; the least used chunks go first
  std::uint32_t min_chunk = 2;          ///< shorter stretches between cuts are not worth a chunk
};

struct MatcherStats {
  std::uint64_t operations = 0, cuts = 0;
  std::uint64_t launched_operations = 0, launches = 0;
  std::uint64_t promoted_periods = 0, chunks = 0;
  std::uint64_t promoted_variants = 0;  ///< pieces between two branches that were found to repeat
  std::uint32_t nodes = 0;              ///< tokens in all known sequences
  std::uint64_t side_exits = 0;         ///< held or followed sequences that did not continue as known
  std::uint32_t largest_hold = 0;
  std::uint64_t first_launch_at = 0;  ///< number of the operation (from 1) that completed the first launch
  std::size_t memory_bytes = 0;
};

}  // namespace refrain::replay
