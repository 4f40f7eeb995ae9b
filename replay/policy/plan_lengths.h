// The plans by which stretches may be divided into chunks, for a program that takes a given time from one submission to
// the next. Which of them suits it is found out by trying (interval_trial.h).
#pragma once

#include <array>
#include <cstdint>

#include "replay/detect/matcher.h"

namespace refrain::replay {

/// More queues are counted as so many. The first chunk is as many times as long: a graph over several queues is several
/// short ones, and the next one begins when the last of them is done.
inline constexpr std::uint32_t kMostQueues = 4;  // limit

struct ProgramPace {
  std::uint64_t each_ns = 1;    ///< from one submission to the next, what holding it costs included; not 0
  std::uint32_t queues = 1;     ///< over which what is held is spread
  ChunkLengths suits;           ///< what settings and backend want
  std::uint32_t longest = 128;  ///< operations in any chunk
  std::uint64_t hold_limit_ns = 4'000'000;
};

/// Pure; any thread. The last one is for several queues.
[[nodiscard]] std::array<ChunkLengths, kChunkPlans> chunk_plans(const ProgramPace& pace) noexcept;

}  // namespace refrain::replay
