// What is told of intervals.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "env/log.h"
#include "replay/policy/interval_trial.h"

namespace refrain::replay {

namespace {
double in_us(std::uint64_t ns) noexcept {
  return static_cast<double>(ns) / 1000.0;
}
}  // namespace

void IntervalTrial::log_outcome(const Known& interval, const char* outcome) const {
  if (!env::log_enabled(env::LogLevel::kDebug)) {
    return;
  }
  std::string text = fmt::format(
      "a sync interval of {} submissions, seen {} times, in us, with (and without) what the program does by itself: "
      "eagerly {:.1f} ({:.1f}), ",
      interval.submissions, interval.seen, in_us(interval.whole_eager.low()), in_us(interval.eager.low()));
  for (std::uint32_t plan = 0; plan < plans_; ++plan) {
    text += fmt::format("plan {} {:.1f} ({:.1f}; {} samples), ", plan, in_us(interval.whole[plan].low()),
                        in_us(interval.replay[plan].low()), interval.replay[plan].count());
  }
  text +=
      fmt::format("the wait at its end {:.1f}: {}, plan {}", in_us(interval.waits.median()), outcome, interval.plan);
  env::log_debug(text);
}

/// So many came since it was concluded. What those with graphs save is what was concluded, here or in another run.
void IntervalTrial::count(Known& interval, std::uint64_t times, std::uint64_t with_graphs) noexcept {
  const bool here = interval.concluded_eager_ns != 0;
  const std::uint64_t eager = here ? interval.concluded_eager_ns : interval.whole_eager.low();
  const std::uint64_t with = here ? interval.concluded_graph_ns : interval.whole[interval.plan].low();
  interval.replays += times;
  interval.saved_ns += with_graphs * (eager - std::min(with, eager));
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
  if (summary.state == IntervalSummary::State::kTrial) {
    summary.reason = "it did not come often enough to decide";
  }
  // Of one moment: samples with graphs go on, and the program may have become another one.
  if (was_concluded) {
    summary.eager_ns = interval.concluded_eager_ns;
    summary.plans[summary.plan].ns = interval.concluded_graph_ns;
  }
  return summary;
}

/// Where the whole seems to gain, submitting and waiting alone have decided.
IntervalSummary IntervalTrial::declined_summary_of(const Known& interval) const {
  IntervalSummary summary = summary_of(interval);
  summary.state = IntervalSummary::State::kDeclined;
  const bool gains = summary.plans[summary.plan].ns * 100 < summary.eager_ns * 97;
  summary.reason = gains ? fmt::format(
                               "but submitting and waiting alone, which is what graphs change, take {:.1f} us "
                               "eagerly, {:.1f} us with graphs",
                               in_us(interval.eager.low()), in_us(interval.replay[summary.plan].low()))
                         : "it is not faster with graphs";
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
