// How long verify mode waits for work that may be waiting, in its turn, for what the program does next.
#pragma once

#include <algorithm>
#include <chrono>

namespace refrain::replay {

/// The program stands still meanwhile, so that such a wait is in vain. All of them together may take four seconds and a
/// 25th of the time, and the longer they took, the shorter the next one is. Not thread-safe.
class VerificationPatience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kLongest{2000};  // limit

  /// When a wait that begins now ends at the latest.
  [[nodiscard]] Clock::time_point until(Clock::time_point now = Clock::now()) const noexcept {
    constexpr int kShare = 25;                         // limit
    constexpr std::chrono::milliseconds kShortest{2};  // limit
    const Clock::duration left = 2 * kLongest + (now - start_) / kShare - lost_;
    return now + std::clamp<Clock::duration>(left / 2, kShortest, kLongest);
  }
  void in_vain(Clock::duration time) noexcept { lost_ += time; }

 private:
  Clock::time_point start_ = Clock::now();
  Clock::duration lost_{};
};

}  // namespace refrain::replay
