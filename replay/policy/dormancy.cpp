#include "replay/policy/dormancy.h"

#include <algorithm>

#include "replay/tuning.h"

namespace refrain::replay {
namespace {

/// 0: lanes are never dormant.
std::uint64_t dormant_after(const env::Settings& settings) {
  if (settings.mode != env::Mode::kReplay) {
    return 0;
  }
  return settings.dormant_after != 0 ? settings.dormant_after : settings.gate ? tuning::kDormantAfter : 0;
}

}  // namespace

Dormancy::Dormancy(const env::Settings& settings) noexcept
    : dormant_after_(dormant_after(settings)),
      history_(static_cast<std::uint64_t>(settings.history)),
      one_is_too_few_(settings.min_graph > 1),
      length_(tuning::kShortestDormancy * dormant_after_, 2, tuning::kLongestDormancy * dormant_after_) {}

void Dormancy::resume(const Seen& seen) noexcept {
  left_ = 0;
  since_ = seen;
  hopeless_since_ = hopeless(seen);
  handed_off_ = 0;
}

std::uint64_t Dormancy::consider(const Seen& seen, std::uint64_t on_trial) noexcept {
  left_ = dormant_for(seen, on_trial);
  return left_;
}

std::uint64_t Dormancy::dormant_for(const Seen& seen, std::uint64_t on_trial) noexcept {
  const std::uint64_t submissions = seen.submissions - since_.submissions;
  if (on_trial * 2 >= dormant_after_) {
    return 0;  // one long interval without graphs would be enough, before it was measured
  }
  const std::uint64_t replayed = seen.replayed - since_.replayed;
  if (replayed * 10 >= submissions) {
    length_.reset();
    resume(seen);
    return 0;
  }
  // What repeats is known and does not pay; or nothing repeats, over more than the history can compare.
  if ((hopeless(seen) - hopeless_since_) * 10 < submissions * 9 && submissions < 4 * history_) {
    return 0;
  }
  // It takes turns with other lanes, and graphs are launched by others (any: with which it takes turns is not kept).
  // They divide their work where this one's begins, so that it has to go on looking.
  if (handed_off_ != 0 && seen.replayed_by_all - since_.replayed_by_all > replayed) {
    return 0;
  }
  const std::uint64_t length = length_.length();
  length_.grow();
  return length;
}

}  // namespace refrain::replay
