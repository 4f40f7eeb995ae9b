// What is tried more and more rarely.
#pragma once

#include <algorithm>
#include <cstdint>

namespace refrain::replay {

/// Not thread-safe. What is counted is the owner's: occurrences, submissions.
class Backoff {
 public:
  constexpr Backoff(std::uint64_t first, std::uint64_t factor, std::uint64_t most) noexcept
      : first_(first), factor_(factor), most_(most), length_(first) {}
  /// So long nothing is tried now.
  [[nodiscard]] constexpr std::uint64_t length() const noexcept { return length_; }
  /// It was in vain once more.
  constexpr void grow() noexcept { length_ = std::min(length_ * factor_, most_); }
  /// It was not.
  constexpr void reset() noexcept { length_ = first_; }

 private:
  std::uint64_t first_, factor_, most_;
  std::uint64_t length_;
};

}  // namespace refrain::replay
