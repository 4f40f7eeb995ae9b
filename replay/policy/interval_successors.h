// Which interval comes next.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "capture/operation.h"

namespace refrain::replay {

/// Not thread-safe. With the last interval alone, a short one between two long ones would always announce the wrong one
/// of them: so the last few together count first.
class IntervalSuccessors {
 public:
  /// An interval of this kind has ended. Not 0.
  void ended(std::uint64_t kind) noexcept {
    for (const std::uint64_t before : {recent_.back(), together_}) {
      place_of(before) = {before, kind};
    }
    std::rotate(recent_.begin(), recent_.begin() + 1, recent_.end());
    recent_.back() = kind;
    together_ = 0;
    for (const std::uint64_t each : recent_) {
      together_ = capture::mix(together_, each);
    }
  }
  /// What followed last time on the last few; else on the last one; else the last one once more.
  [[nodiscard]] std::uint64_t expected() const noexcept {
    for (const std::uint64_t before : {together_, recent_.back()}) {
      if (const Followed& known = followed_[before % followed_.size()]; known.before == before) {
        return known.next;
      }
    }
    return recent_.back();
  }

 private:
  struct Followed {
    std::uint64_t before = 0;  ///< an interval, or several
    std::uint64_t next = 0;
  };
  [[nodiscard]] Followed& place_of(std::uint64_t before) noexcept { return followed_[before % followed_.size()]; }

  std::array<std::uint64_t, 4> recent_{};  ///< the newest one last
  std::uint64_t together_ = 0;             ///< all of them
  std::array<Followed, 256> followed_;
};

}  // namespace refrain::replay
