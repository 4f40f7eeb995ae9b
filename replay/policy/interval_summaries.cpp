// What is told of intervals.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "env/log.h"
#include "replay/policy/interval_trial.h"

namespace refrain::replay {

void IntervalTrial::log_outcome(const Known& interval, const char* outcome) const {
  if (!env::log_enabled(env::LogLevel::kDebug)) {
    return;
  }
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; };
  std::string text = fmt::format(
      "a sync interval of {} submissions, seen {} times, in us, with (and without) what the program does by itself: "
      "eagerly {:.1f} ({:.1f}), ",
      interval.submissions, interval.seen, us(interval.whole_eager.low()), us(interval.eager.low()));
  for (std::uint32_t plan = 0; plan < plans_; ++plan) {
    text += fmt::format("plan {} {:.1f} ({:.1f}; {} samples), ", plan, us(interval.whole[plan].low()),
                        us(interval.replay[plan].low()), interval.replay[plan].count());
  }
  text += fmt::format("the wait at its end {:.1f}: {}, plan {}", us(interval.waits.median()), outcome, interval.plan);
  env::log_debug(text);
}

/// So many came with graphs since it was concluded. What they save is what was concluded, here or in another run.
void IntervalTrial::count(Known& interval, std::uint64_t times) noexcept {
  const bool here = interval.concluded_eager_ns != 0;
  const std::uint64_t eager = here ? interval.concluded_eager_ns : interval.whole_eager.low();
  const std::uint64_t with = here ? interval.concluded_graph_ns : interval.whole[interval.plan].low();
  interval.replays += times;
  interval.saved_ns += times * (eager - std::min(with, eager));
}

IntervalSummary IntervalTrial::summary_of(const Known& interval) const {
  IntervalSummary summary;
  const bool was_concluded = interval.concluded_eager_ns != 0;
  summary.state =
      interval.concluded || was_concluded ? IntervalSummary::State::kReplaying : IntervalSummary::State::kTrial;
  summary.submissions = interval.submissions;
  summary.seen = interval.seen;
  summary.eager_ns = interval.whole_eager.low();
  summary.eager_samples = interval.whole_eager.count();
  summary.saved_ns = interval.saved_ns;
  for (std::uint32_t plan = 0; plan < plans_; ++plan) {
    summary.plans[plan] = {interval.whole[plan].low(), interval.whole[plan].count(), interval.in_graphs[plan]};
  }
  summary.plan = std::min(interval.plan, plans_ - 1);
  // Of one moment: samples with graphs go on, and the program may have become another one.
  if (was_concluded) {
    summary.eager_ns = interval.concluded_eager_ns;
    summary.plans[summary.plan].ns = interval.concluded_graph_ns;
  }
  return summary;
}

std::vector<IntervalSummary> IntervalTrial::summaries() const {
  const env::MutexLock guard(mutex_);
  std::vector<IntervalSummary> all = declined_;
  for (const auto& [hash, interval] : known_) {
    all.push_back(summary_of(interval));
  }
  return all;
}

}  // namespace refrain::replay
