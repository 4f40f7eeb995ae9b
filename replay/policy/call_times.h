// What calls usually take.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace refrain::replay {

/// Without those that were disturbed: the mean of all but the longest quarter of the last samples. Not thread-safe.
class CallTimes {
 public:
  void clear() noexcept { count_ = 0; }
  /// True when usual() is worth asking for anew: after the first few samples, and later whenever all were replaced.
  bool add(std::uint64_t ns) noexcept {
    samples_[count_++ % kSamples] = ns;
    return count_ == kFirst || count_ % kSamples == 0;
  }
  /// Nanoseconds; 0 without samples.
  [[nodiscard]] std::uint64_t usual() const noexcept {
    const std::size_t kept = std::min<std::uint64_t>(count_, kSamples);
    if (kept == 0) {
      return 0;
    }
    auto sorted = samples_;
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(kept));
    const std::size_t counted = std::max<std::size_t>(kept * 3 / 4, 1);
    return std::accumulate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(counted), std::uint64_t{0}) /
           counted;
  }

 private:
  static constexpr std::size_t kSamples = 64, kFirst = 16;  // limit: what is remembered
  std::array<std::uint64_t, kSamples> samples_{};
  std::uint64_t count_ = 0;
};

}  // namespace refrain::replay
