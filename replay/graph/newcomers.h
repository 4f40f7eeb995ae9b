// Stretches for which a full table has no place.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "capture/graph.h"

namespace refrain::replay {

/// Says when a table that is full is to be looked through for what does not come any more. Time is measured by the
/// stretches that wait for a place: an entry that did not come at all while one of them came again and again has less
/// use for its place. So a program that goes through a few more stretches than places, in turn, keeps those that it
/// has. Not thread-safe.
class Newcomers {
 public:
  /// So often the first of them has come when it is time to look again.
  static constexpr std::uint8_t kTimes = 4;  // limit

  /// A stretch came for which there is no place. Whether it is time to look.
  bool came(capture::Fingerprint stretch) noexcept {
    ++waiting_;
    // Two that share a count only make it sooner.
    if (++times_[stretch % times_.size()] < kTimes) {
      return false;
    }
    times_ = {};
    return true;
  }
  /// About how many have come as often as the first one, before the last look; at least one.
  [[nodiscard]] std::uint64_t take_waiting() noexcept { return std::exchange(waiting_, 0) / kTimes + 1; }

 private:
  std::array<std::uint8_t, 1U << 14U> times_ = {};  // limit: of memory; more than a lane can know
  std::uint64_t waiting_ = 0;                       ///< came since the last look
};

}  // namespace refrain::replay
