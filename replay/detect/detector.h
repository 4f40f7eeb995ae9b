// Finds where the newest operations were seen before: the last occurrence of the newest six values is
// looked up, verified, and then followed with one compare per operation for as long as it agrees (a
// reference as in LZ77). Constant time per operation, constant memory. Not thread-safe.
#pragma once

#include <cstdint>

#include "replay/detect/history.h"
#include "replay/tuning.h"

namespace refrain::replay {

class Detector {
 public:
  struct Step {
    /// Not 0: the newest values repeat those before with this period, for two periods and at least
    /// tuning::kSignificantMatch values. Reported again after each further period.
    std::uint64_t period = 0;
    /// Not 0: the match that this value ended had this length.
    std::uint64_t ended = 0;
  };

  explicit Detector(const History& history);

  /// To be called after each History::push().
  Step step() noexcept {
    Step result;
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): set by the constructor, which is in another file
    const std::uint64_t newest = history_.size() - 1;
    const std::size_t slot = (history_.gram() * kSpread) >> shift_;
    if (distance_ != 0) {
      if (history_.at(newest - distance_) == history_.at(newest)) {
        if (++length_ == next_report_) {
          next_report_ += std::max<std::uint64_t>(distance_, tuning::kSignificantMatch);
          result.period = distance_;
        }
      } else {
        result.ended = length_;
        ended_ = {newest, distance_, length_, next_report_};
        distance_ = 0;
        length_ = 0;
      }
    }
    const std::uint32_t tag = static_cast<std::uint32_t>(history_.gram() * kSpread) & kTagMask;
    if (distance_ == 0) {
      look_up(index_[slot], tag, newest);
    }
    index_[slot] = tag | (static_cast<std::uint32_t>(newest) & kPositionMask);
    return result;
  }

  /// Number of newest values that equal those distance() earlier; 0: no earlier occurrence is known.
  [[nodiscard]] std::uint64_t length() const noexcept { return length_; }
  [[nodiscard]] std::uint64_t distance() const noexcept { return distance_; }
  /// The values from `position` on were taken back: the match that ended there, if one did, goes on.
  void resume(std::uint64_t position) noexcept {
    const bool same = ended_.position == position && ended_.length != 0;
    distance_ = same ? ended_.distance : 0;
    length_ = same ? ended_.length : 0;
    next_report_ = ended_.next_report;
  }
  /// Values went by without step(): what was being followed is not valid any more.
  void forget() noexcept { distance_ = length_ = 0; }
  [[nodiscard]] std::size_t bytes() const noexcept { return index_.bytes(); }

 private:
  static constexpr std::uint64_t kSpread = 0xD6E8FEB86659FD93ULL;  // format
  static constexpr std::uint32_t kPositionMask = 0xFFFFFFU;        // format: more than the longest history
  static constexpr std::uint32_t kTagMask = ~kPositionMask;        // format
  static constexpr std::uint64_t kLookBack = 64;                   // limit: values compared in one call

  void look_up(std::uint32_t entry, std::uint32_t tag, std::uint64_t newest) noexcept;

  const History& history_;
  int shift_;
  LazyArray<std::uint32_t> index_;  // tag and low bits of the last position of each sequence of six
  std::uint64_t distance_ = 0;
  std::uint64_t length_ = 0;
  std::uint64_t next_report_ = 0;
  struct Ended {
    std::uint64_t position, distance, length, next_report;
  };
  Ended ended_{};
};

}  // namespace refrain::replay
