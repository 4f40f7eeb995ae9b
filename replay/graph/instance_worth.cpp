#include "replay/graph/instance_worth.h"

#include <algorithm>

#include "replay/tuning.h"

namespace refrain::replay {

/// In operations to change: those that would have been changed with one instance only, and what was issued instead.
bool InstanceWorth::pays(const Done& done) const noexcept {
  const auto changed = static_cast<double>(std::max<std::uint64_t>(done.changed, 1));
  const auto launches = static_cast<double>(done.changed + done.fitted);
  const auto lost = static_cast<double>(done.changed_operations) * launches / changed +
                    static_cast<double>(issued_ * tuning::kChangesForIssue);
  return lost >= static_cast<double>((done.builds + 1) * tuning::kChangesForBuild);
}

bool InstanceWorth::come_back(const ArgumentHashes& arguments) noexcept {
  const std::size_t kept = std::min<std::uint64_t>(last_count_, last_.size());
  const bool seen = std::find(last_.begin(), last_.begin() + kept, arguments.whole()) != last_.begin() + kept;
  last_[last_count_++ % last_.size()] = arguments.whole();
  return seen;
}

bool InstanceWorth::deserve_own(const ArgumentHashes& arguments, std::size_t changed, std::size_t instances) {
  if (changed == 0) {
    return false;
  }
  const bool back = come_back(arguments);
  const bool nearly_back = changed * 2 > arguments.size() && nearly_come_back(arguments);
  return back || (nearly_back && instances < last_changed_.size());
}

/// Most of the arguments take turns, and some are new each time: with an instance for each turn, only those would have
/// to be changed.
bool InstanceWorth::nearly_come_back(const ArgumentHashes& arguments) {
  const bool near = std::any_of(last_changed_.begin(), last_changed_.end(), [&](const ArgumentHashes& before) {
    return before.known() && before.differing(arguments) * 2 <= arguments.size();
  });
  last_changed_[last_changed_count_++ % last_changed_.size()] = arguments;
  return near;
}

}  // namespace refrain::replay
