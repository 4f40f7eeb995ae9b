// What was concluded of intervals as data, and back.
#include <algorithm>

#include "replay/policy/interval_trial.h"
#include "replay/tuning.h"

namespace refrain::replay {
namespace {

constexpr std::size_t kMostKnown = 256;  // limit: that are kept for another run

void fill(RecentCosts& costs, std::uint64_t ns) noexcept {
  for (std::uint64_t sample = 0; sample < tuning::kIntervalsWanted; ++sample) {
    costs.add(ns);
  }
}

}  // namespace

std::vector<KnownInterval> IntervalTrial::known() const {
  const env::MutexLock guard(mutex_);
  std::vector<KnownInterval> all;
  for (const auto& [hash, interval] : known_) {
    const std::uint32_t plan = interval.plan;
    if (interval.concluded && interval.whole_eager.count() != 0 && interval.replay[plan].count() != 0) {
      // Of one moment, as in reports; where another run has found it out, and it was not checked: what that said.
      const bool here = interval.concluded_eager_ns != 0;
      all.push_back({hash, interval.submissions, interval.seen, plan, interval.in_graphs[plan], interval.eager.low(),
                     interval.replay[plan].low(), here ? interval.concluded_eager_ns : interval.whole_eager.low(),
                     here ? interval.concluded_graph_ns : interval.whole[plan].low()});
    }
  }
  std::ranges::sort(all, std::ranges::greater(), &KnownInterval::seen);
  all.resize(std::min(all.size(), kMostKnown));
  return all;
}

void IntervalTrial::learn(std::span<const KnownInterval> known) {
  const env::MutexLock guard(mutex_);
  if (!enabled_ || !known_.empty()) {
    return;
  }
  std::uint64_t most = 0;
  for (const KnownInterval& each : known.first(std::min(known.size(), kMostKnown))) {
    // What would not have been concluded is not believed.
    if (each.plan >= plans_ || each.graph_ns == 0 || each.graph_ns > each.eager_ns ||
        each.in_graphs > each.submissions) {
      continue;
    }
    Known& made = known_[each.hash];
    made.submissions = each.submissions;
    made.plan = each.plan;
    made.concluded = true;
    made.in_graphs[each.plan] = each.in_graphs;
    fill(made.eager, each.eager_ns);
    fill(made.replay[each.plan], each.graph_ns);
    fill(made.whole_eager, each.whole_eager_ns);
    fill(made.whole[each.plan], each.whole_graph_ns);
    made.next_check = tuning::kCheckOfKnown;
    if (each.submissions * each.seen > most) {  // nothing else says which one comes first
      most = each.submissions * each.seen;
      turn_.plan = each.plan;
    }
  }
}

}  // namespace refrain::replay
