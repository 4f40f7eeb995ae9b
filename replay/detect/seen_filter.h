// Which values were seen before: tells a kernel that came for the first time from one that is known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "replay/detect/history.h"

namespace refrain::replay {

/// Constant memory: forgets what is long ago, and very rarely claims to have seen what it has not.
class SeenFilter {
 public:
  /// Whether `value` was seen before; from now on it was.
  bool test_and_set(Token value) {
    if (marks_.empty()) {
      marks_ = LazyArray<std::uint16_t>(kBuckets * kWays);
    }
    const std::uint64_t hash = value * kHashBase;
    const auto mark = static_cast<std::uint16_t>((hash >> 32U & 0xFFFFU) | 1U);
    std::uint16_t* const bucket = &marks_[(hash >> 48U & (kBuckets - 1)) * kWays];
    if (std::find(bucket, bucket + kWays, mark) != bucket + kWays) {
      return true;
    }
    bucket[next_++ % kWays] = mark;
    return false;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return marks_.bytes(); }

 private:
  static constexpr std::size_t kBuckets = 4096, kWays = 8;  // limit
  LazyArray<std::uint16_t> marks_;
  std::uint32_t next_ = 0;
};

}  // namespace refrain::replay
