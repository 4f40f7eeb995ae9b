// What was found out of a graph as data, and back.
#include "replay/graph/graph_entry.h"
#include "replay/tuning.h"

namespace refrain::replay {

void GraphEntry::learn(const Known& known) {
  const env::MutexLock guard(mutex_);
  if (!limits_.gate) {  // then all are used
    expected_ = known.pays;
    return;
  }
  if (known.eager_ns == 0) {
    return;
  }
  if (!known.pays) {
    backoff_.grow();
    totals_.eager_ns = known.eager_ns;
    totals_.replay_ns = known.replay_ns;
    pass(Decline::kCost, "it is not faster as a graph, as an earlier run has found");
    return;
  }
  expected_ = true;
  for (std::uint64_t sample = 0; sample < tuning::kLaunchesWanted; ++sample) {
    gate_.add_eager(known.eager_ns);
  }
}

std::optional<GraphEntry::Known> GraphEntry::known() const {
  const env::MutexLock guard(mutex_);
  if (retired_) {
    return std::nullopt;
  }
  if (state_ == State::kBypassing && decline_ == Decline::kCost && totals_.eager_ns != 0) {
    return Known{fingerprint_, false, totals_.eager_ns, totals_.replay_ns};
  }
  if (state_ == State::kBypassing && decline_ == Decline::kInterval && totals_.interval_eager_ns != 0) {
    return Known{fingerprint_, false, totals_.interval_eager_ns, totals_.interval_replay_ns};
  }
  // Where arguments often did not fit, the first ones that come are hardly those to build a graph for.
  const bool fitted = totals_.mismatched * tuning::kLittle <= totals_.launched;
  if (gate_.verdict() == CostGate::Verdict::kPays && !variants_.empty() && fitted) {
    return Known{fingerprint_, true, gate_.eager_ns(), gate_.replay_ns()};
  }
  return std::nullopt;
}

}  // namespace refrain::replay
