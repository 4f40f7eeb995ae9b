// The plans by which a lane's matcher divides what comes between two cuts into chunks.
#pragma once

#include <array>
#include <cstdint>

#include "replay/detect/chunk.h"

namespace refrain::replay {

/// Several lengths of chunks, of which one is in use. Whatever is given, what is told makes sense. Not thread-safe.
class ChunkPlans {
 public:
  explicit ChunkPlans(const MatcherOptions& options) noexcept;
  ChunkPlans(const ChunkPlans&) = delete;
  ChunkPlans& operator=(const ChunkPlans&) = delete;

  /// Plan `plan` is another one now; no chunk becomes longer than chunk_cap as it was given first. True if it is in
  /// use: then use() is to be called again.
  [[nodiscard]] bool set(std::uint32_t plan, const ChunkLengths& lengths) noexcept;
  void use(std::uint32_t plan) noexcept;
  [[nodiscard]] const ChunkLengths& lengths() const noexcept { return plans_[used_].lengths; }
  /// With the lengths in use.
  [[nodiscard]] const MatcherOptions& options() const noexcept { return options_; }
  /// Of the lengths in use: other ones have another number.
  [[nodiscard]] std::uint32_t number() const noexcept { return plans_[used_].number; }

 private:
  struct Plan {
    ChunkLengths lengths;
    std::uint32_t number = 0;
  };
  MatcherOptions options_;
  const std::uint32_t longest_;  ///< chunk_cap as it was given
  std::array<Plan, kChunkPlans> plans_;
  std::uint32_t used_ = 0;
  std::uint32_t numbers_ = 0;  ///< given so far
};

}  // namespace refrain::replay
