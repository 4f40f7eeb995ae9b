#include "replay/policy/span_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "env/log.h"
#include "replay/tuning.h"

namespace refrain::replay {

namespace {
constexpr std::size_t kMostSpans = 1024;   // limit
constexpr std::size_t kMostDeclined = 64;  // limit: that are told of

/// Whether the program takes far longer to submit a span than it waits at its end: what is held delays nobody, and
/// launches are what can be saved. Decided in the first way.
bool host_bound(const RecentCosts& waits, const RecentCosts& spans, std::uint64_t times = tuning::kLittle) noexcept {
  return spans.count() != 0 && waits.median() * times < spans.median();
}
/// Whether the program spends most of a span with something else than submitting and waiting.
bool mostly_by_itself(const RecentCosts& busy, const RecentCosts& whole) noexcept {
  return busy.count() != 0 && busy.median() * 2 < whole.median();
}
/// Not one disturbed sample can be the reason.
bool clearly_less(const RecentCosts& a, const RecentCosts& b) noexcept {
  return a.greatest() * 10 < b.least() * 9;
}
/// By more than any disturbance: one sample of each is enough.
bool beyond_doubt(std::uint64_t less, const RecentCosts& than) noexcept {
  return than.count() != 0 && less * 2 < than.least();
}
/// By more than samples of one kind differ among each other.
bool surely_less(const RecentCosts& a, const RecentCosts& b) noexcept {
  const bool enough = a.count() >= tuning::kSpansWanted && b.count() >= tuning::kSpansWanted;
  const std::uint64_t noise = enough ? std::min({a.median() - a.low(), b.median() - b.low(), a.low() / 32}) : 0;
  return a.low() + noise < b.low();
}
/// By more than samples differ without a reason.
bool better(std::uint64_t a, std::uint64_t b) noexcept {
  return a * 100 < b * 97;
}
}  // namespace

[[gnu::hot]] void SpanGate::launched(const std::shared_ptr<Declinable>& entry) {
  in_graphs_ += entry->size();
  if (enabled_ && !turn_.settled && std::find(launched_.begin(), launched_.end(), entry) == launched_.end()) {
    launched_.push_back(entry);
  }
}

std::int64_t SpanGate::waited(std::uint64_t now, bool may_lose) {
  saved_ns_ = 0;
  if (!open_) {
    return 0;
  }
  open_ = false;
  if (!enabled_) {
    return 0;
  }
  const env::MutexLock guard(mutex_);
  count_passed();
  std::int64_t lost = 0;
  Costs costs;
  costs.whole = now - start_ns_;
  costs.busy = costs.whole - std::min(outside_ns_, costs.whole);
  costs.wait = now - std::clamp(waiting_since_ns_, start_ns_, now);
  const Turn turn = std::exchange(turn_, {});
  successor_of(previous_) = {previous_, hash_};
  previous_ = hash_;
  // Spans are only remembered once graphs ran in them.
  auto found = known_.find(hash_);
  ++spans_;
  if (found == known_.end() && in_graphs_ != 0) {
    make_room();
    found = known_.try_emplace(hash_).first;
  }
  if (found != known_.end()) {
    found->second.last_seen = spans_;
    if (turn.trial && !turn.outside) {
      costs.busy = costs.whole - std::min(usual_outside(found->second), costs.whole);
    }
    found->second.submissions = submissions_;
    ++found->second.seen;
    sample(found->second, costs, turn);
    lost = found->second.settled ? 0 : loss(found->second, costs, turn);
    if (turn.trial && !found->second.settled) {
      saved_ns_ = sure_saving(found->second, costs, turn);
    }
    if (!found->second.settled && settle(found->second)) {
      log_outcome(found->second, "graphs are declined");
      for (const auto& entry : found->second.graphs) {
        const Known& span = found->second;
        const bool known = span.eager.count() != 0 && span.replay[span.plan].count() != 0;
        entry->declined_by_span((known ? span.eager : span.whole_eager).low(),
                                (known ? span.replay : span.whole)[span.plan].low());
      }
      if (declined_.size() < kMostDeclined) {
        declined_.push_back(summary_of(found->second));
        declined_.back().state = SpanSummary::State::kDeclined;
      }
      known_.erase(found);
    }
  }
  const Successor& successor = successor_of(hash_);
  const auto next = known_.find(successor.span == hash_ ? successor.next : hash_);
  if (next != known_.end()) {
    const Known& span = next->second;
    turn_.settled = span.settled;
    turn_.trial = !span.settled;
    // Not for ever, if eager turns are never fair.
    turn_.eager = !span.settled && span.plan == 0 && !span.eager_unfair && span.eager.count() < tuning::kSpansWanted &&
                  span.whole[span.plan].count() > span.whole_eager.count();
    // Where no more may be lost, a span rests in the way of which it is known that nothing is lost with it, if there is
    // one.
    const bool may_try = span.settled || turn_.eager || may_lose;
    const std::uint32_t refuge = may_try ? kChunkPlans : paying_plan(span);
    turn_.resting = !may_try && refuge == kChunkPlans;
    turn_.plan = refuge == kChunkPlans ? span.plan : refuge;
    turn_.eager = turn_.eager || turn_.resting;
    turn_.outside = turn_.trial && (turn_.eager || outside_matters(span));
    if (span.settled && next->first == hash_) {
      steady_ = {hash_,
                 tuning::kLookedAtOf - 1,
                 0,
                 span.in_graphs[span.plan] + span.submissions / tuning::kMoreGraphs,
                 span.whole_eager.median(),
                 0};
    }
  } else {
    turn_.eager = turn_.resting = !may_lose;  // who knows what graphs would do there
  }
  return lost;
}

/// Those that were not seen for longest go, a few at once.
void SpanGate::make_room() {
  if (known_.size() < kMostSpans) {
    return;
  }
  std::vector<std::uint64_t> seen;
  seen.reserve(known_.size());
  for (const auto& [hash, span] : known_) {
    seen.push_back(span.last_seen);
  }
  const auto last = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / tuning::kLittle);
  std::ranges::nth_element(seen, last);
  std::erase_if(known_, [&](const auto& span) { return span.second.last_seen <= *last; });
}

/// When a span is looked at: it was there so many times before.
void SpanGate::count_passed() noexcept {
  const Steady before = std::exchange(steady_, {});
  if (const auto found = known_.find(before.hash); before.passed != 0 && found != known_.end()) {
    Known& span = found->second;
    span.seen += before.passed;
    span.last_seen = spans_;
    span.replays += before.passed;
    span.whole[span.plan].add(before.newest_ns);  // or those that are looked at would be the slow ones
  }
}

std::int64_t SpanGate::Known::Unpaid::loss(std::uint64_t each) noexcept {
  return static_cast<std::int64_t>(std::exchange(ns, 0)) - static_cast<std::int64_t>(std::exchange(spans, 0) * each);
}

/// After sample(): what the span lost if it had graphs, and what earlier ones did if it tells.
std::int64_t SpanGate::loss(Known& span, const Costs& costs, Turn turn) const noexcept {
  if (in_graphs_ != 0) {
    Known::Unpaid& unpaid = turn.trial ? span.unpaid : span.unpaid_whole;
    unpaid.ns += turn.trial ? costs.busy : costs.whole;
    ++unpaid.spans;
  }
  if (span.eager.count() == 0) {
    return 0;
  }
  return span.unpaid.loss(span.eager.median()) + span.unpaid_whole.loss(span.whole_eager.median());
}

void SpanGate::sample(Known& span, const Costs& costs, Turn turn) {
  // A graph that became ready in the middle of an eager turn was launched all the same: no sample of either. And a way
  // is not known before its graphs are there.
  // (The same of a short span may leave an odd one out.)
  const std::uint64_t most = std::max(span.in_graphs[0], in_graphs_);
  const std::uint64_t missing = submissions_ < tuning::kManySubmissions ? most / 2 : most / 16;
  const bool complete = turn.eager ? in_graphs_ == 0 : in_graphs_ != 0 && in_graphs_ + missing >= most;
  const bool fair = !disturbed_ && looked_at_ * tuning::kLittle <= submissions_ && complete;
  span.eager_unfair = turn.eager && !fair;
  // Graphs become ready one by one, when there is time and budget to build them: more of them are something else.
  if (!turn.eager && in_graphs_ > span.in_graphs[turn.plan] + submissions_ / tuning::kMoreGraphs) {
    span.in_graphs[turn.plan] = in_graphs_;
    span.replay[turn.plan].clear();
    span.whole[turn.plan].clear();
    if (turn.plan == 0) {
      span.waits.clear();
    }
    span.settled = false;
    span.plan = turn.plan;
    span.tries = 0;
  }
  if (!turn.eager && in_graphs_ == 0 && turn.plan == paying_plan(span)) {  // its graphs are gone
    span.replay[turn.plan].clear();
    span.whole[turn.plan].clear();
  }
  if (fair) {
    (turn.eager ? span.whole_eager : span.whole[turn.plan]).add(costs.whole);
    if (turn.trial) {
      (turn.eager ? span.eager : span.replay[turn.plan]).add(costs.busy);
    }
    if (!turn.eager && turn.plan == 0) {
      span.waits.add(costs.wait);
    }
  }
  if (!span.settled) {
    span.tries += turn.resting || turn.plan != span.plan ? 0 : 1;
    for (const auto& entry : launched_) {
      if (std::find(span.graphs.begin(), span.graphs.end(), entry) == span.graphs.end()) {
        span.graphs.push_back(entry);
      }
    }
    return;
  }
  // All of the last ones were slower than eager spans usually were: something has changed.
  const RecentCosts& mine = span.whole[span.plan];
  const bool regret = fair && mine.count() >= RecentCosts::kKept && mine.least() > span.whole_eager.median();
  if (++span.replays >= span.next_check || regret) {
    ++span.checks;
    start_over(span);
  }
}

void SpanGate::start_over(Known& span) {
  span.settled = false;
  span.plan = span.tries = 0;
  span.eager.clear();
  span.whole_eager.clear();
  for (std::uint32_t plan = 0; plan < kChunkPlans; ++plan) {
    span.replay[plan].clear();
    span.whole[plan].clear();
  }
  span.in_graphs = {};
  span.waits.clear();
}

/// What an eager span takes, without what the program does by itself if that is known: a disturbance of the machine is
/// small beside a long one.
std::uint64_t SpanGate::decisive(const Known& span) noexcept {
  return (span.eager.count() != 0 ? span.eager : span.whole_eager).median();
}

/// What the program does by itself in an eager span.
std::uint64_t SpanGate::usual_outside(const Known& span) noexcept {
  if (span.eager.count() == 0 || span.whole_eager.count() == 0) {
    return 0;
  }
  const std::uint64_t whole = span.whole_eager.median();
  return whole - std::min(span.eager.median(), whole);
}

/// Whether what the program does by itself is to be measured while the span runs with graphs. That takes a look at the
/// clock for each submission. One of a program that takes no longer than that comes twice as late then, and the device
/// runs dry where it would not otherwise: another way would seem to be the best.
bool SpanGate::outside_matters(const Known& span) const noexcept {
  return span.eager.count() < tuning::kClearWanted ||
         usual_outside(span) * tuning::kNothing > span.whole_eager.median();
}

/// While a span is on trial, what its graphs save pays for building the others: without them it might stay on trial.
std::uint64_t SpanGate::sure_saving(const Known& span, const Costs& costs, Turn turn) const noexcept {
  const bool sure = span.eager.count() >= tuning::kClearWanted || beyond_doubt(costs.busy, span.eager);
  return in_graphs_ != 0 && !turn.eager && sure ? std::max(span.eager.least(), costs.busy) - costs.busy : 0;
}

/// The fastest of the ways that are faster than none beyond doubt, as far as is known now. kChunkPlans: there is none
/// yet.
std::uint32_t SpanGate::paying_plan(const Known& span) noexcept {
  std::uint32_t best = kChunkPlans;
  for (std::uint32_t plan = 0; plan < kChunkPlans; ++plan) {
    const RecentCosts& with = span.replay[plan];
    const bool several = with.count() >= tuning::kClearWanted && span.eager.count() >= tuning::kClearWanted;
    const bool pays =
        several ? clearly_less(with, span.eager) : with.count() != 0 && beyond_doubt(with.greatest(), span.eager);
    if (pays && (best == kChunkPlans || with.low() < span.replay[best].low())) {
      best = plan;
    }
  }
  return best;
}

/// Whether enough is known of the way that is being tried.
bool SpanGate::plan_known(const Known& span) const noexcept {
  const RecentCosts& mine = span.replay[span.plan];
  const std::uint64_t few =
      std::max(tuning::kSpansWanted, tuning::kTriedSubmissions / std::max<std::uint64_t>(span.submissions, 1));
  if (span.tries >= tuning::kMostTries || (span.plan != 0 && mine.count() == 0 && span.tries >= few)) {
    return true;
  }
  // Of short spans the first eager samples are those of a program that has only begun; and more of them cost little.
  const std::uint64_t needed = decisive(span) < tuning::kLongSpanNs ? tuning::kSpansWanted : tuning::kClearWanted;
  if (mine.count() < tuning::kClearWanted ||
      (span.plan == 0 && (mine.count() < needed || span.eager.count() < needed))) {
    return false;
  }
  if (span.plan == 0) {
    return (mine.count() >= tuning::kSpansWanted && span.eager.count() >= tuning::kSpansWanted) ||
           clearly_less(mine, span.eager) || clearly_less(span.eager, mine);
  }
  // A further way is given up as soon as it does not look better, and is taken only if it surely is. But where there
  // are fewer launches for a program that hardly waits, they are fewer, whether the noise shows it or not.
  if (span.plan == kFewLaunches && host_bound(span.waits, span.whole[0])) {
    return mine.count() >= tuning::kSpansWanted;
  }
  return mine.count() >= tuning::kSpansWanted || !better(mine.least(), span.replay[0].low());
}

/// The fastest way. A later one must be better by more than its samples may be wrong; where the host is the slower one,
/// by more than a phase of the machine's might make it.
void SpanGate::choose(Known& span) const noexcept {
  span.plan = 0;
  const RecentCosts& few = span.replay[kFewLaunches];
  if (plans_ > kFewLaunches && few.count() >= tuning::kSpansWanted &&
      span.in_graphs[kFewLaunches] + span.submissions / tuning::kLittle >= span.in_graphs[0] &&
      host_bound(span.waits, span.whole[0]) && !surely_less(span.replay[0], few)) {
    span.plan = kFewLaunches;
  }
  const bool fewest = span.plan == kFewLaunches;
  for (std::uint32_t plan = span.plan + 1; plan < plans_; ++plan) {
    const RecentCosts& known = span.replay[span.plan];
    const RecentCosts& other = span.replay[plan];
    const bool faster = fewest ? clearly_less(other, known) : better(other.low(), known.low());
    if (other.count() >= tuning::kSpansWanted && (known.count() == 0 || faster)) {
      span.plan = plan;
    }
  }
}

/// Goes on to the next way when enough is known of this one, and chooses when all were tried. True if none of them is
/// better than eager execution.
bool SpanGate::settle(Known& span) {
  const RecentCosts& first = span.replay[0];
  // No way of dividing it makes up for half as long again; and one sample is enough where each is dear.
  const std::uint64_t needed = decisive(span) >= tuning::kLongSpanNs ? 1 : tuning::kClearWanted;
  const auto half_as_long_again = [](const RecentCosts& with, const RecentCosts& without, std::uint64_t samples) {
    return with.count() >= samples && without.count() >= samples && with.least() * 2 > without.greatest() * 3;
  };
  // Of what is mostly the program's own doing a few samples say nothing: machines have phases in which all takes twice
  // as long.
  const std::uint64_t whole_needed = mostly_by_itself(span.eager, span.whole_eager) ? tuning::kSpansWanted : needed;
  if (span.plan == 0 && (half_as_long_again(first, span.eager, needed) ||
                        half_as_long_again(span.whole[0], span.whole_eager, whole_needed))) {
    return true;
  }
  if (!plan_known(span)) {
    return false;
  }
  span.tries = 0;
  // Where the program waits for longer than it submits, the device is the slower one: it has always work in front of
  // it, and dividing it otherwise would only cost more launches. (In a short span waiting is mostly the way to the
  // device and back, which says nothing.)
  const bool device_bound = first.count() != 0 && span.submissions >= tuning::kManySubmissions &&
                            span.waits.median() * 2 > span.whole[0].median();
  // Where the program is busy with itself and hardly waits, more launches can only cost more, and to try them takes
  // many long spans.
  const bool by_itself = mostly_by_itself(first, span.whole[0]);
  const bool enough = span.plan >= kFewLaunches && by_itself && host_bound(span.waits, span.whole[0], tuning::kNothing);
  const std::uint32_t next = !device_bound && !enough ? span.plan + 1 : plans_;
  if (span.plan < next && next < plans_) {
    span.plan = next;
    return false;
  }
  choose(span);
  // Graphs have to gain something: what eager spans cost on trial contains what looking at them costs, and if graphs
  // are declined, the lane sleeps. Only where the program is busy with itself so little cannot be told, and graphs stay
  // unless they surely lose: each of them is known to be cheaper to submit.
  const RecentCosts& chosen = span.replay[span.plan];
  const bool declined = by_itself ? surely_less(span.eager, chosen) : !better(chosen.low(), span.eager.low());
  if (chosen.count() >= tuning::kClearWanted && span.eager.count() >= tuning::kClearWanted && declined) {
    return true;
  }
  // Should the program itself take longer with graphs, for a reason that nobody knows of, then that counts as well.
  const RecentCosts& whole = span.whole[span.plan];
  if (whole.count() >= tuning::kSpansWanted && span.whole_eager.count() >= tuning::kSpansWanted &&
      clearly_less(span.whole_eager, whole)) {
    return true;
  }
  log_outcome(span, "graphs stay");
  span.settled = true;
  span.graphs = {};
  span.replays = 0;
  const std::uint64_t worth = span.whole_eager.low() / std::max<std::uint64_t>(span.whole[span.plan].low(), 1);
  span.next_check = next_check(worth, span.checks);
  return false;
}

void SpanGate::log_outcome(const Known& span, const char* outcome) const {
  if (!env::log_enabled(env::LogLevel::kDebug)) {
    return;
  }
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; };
  std::string text = fmt::format(
      "a span of {} submissions, seen {} times, in us, with (and without) what the program does by itself: "
      "eagerly {:.1f} ({:.1f}), ",
      span.submissions, span.seen, us(span.whole_eager.low()), us(span.eager.low()));
  for (std::uint32_t plan = 0; plan < plans_; ++plan) {
    text += fmt::format("plan {} {:.1f} ({:.1f}; {} samples), ", plan, us(span.whole[plan].low()),
                        us(span.replay[plan].low()), span.replay[plan].count());
  }
  text += fmt::format("the wait at its end {:.1f}: {}, plan {}", us(span.waits.median()), outcome, span.plan);
  env::log_debug(text);
}

SpanSummary SpanGate::summary_of(const Known& span) const {
  SpanSummary summary;
  summary.state = span.settled ? SpanSummary::State::kReplaying : SpanSummary::State::kTrial;
  summary.submissions = span.submissions;
  summary.seen = span.seen;
  summary.eager_ns = span.whole_eager.low();
  summary.eager_samples = span.whole_eager.count();
  for (std::uint32_t plan = 0; plan < plans_; ++plan) {
    summary.plans[plan] = {span.whole[plan].low(), span.whole[plan].count(), span.in_graphs[plan]};
  }
  summary.plan = std::min(span.plan, plans_ - 1);
  return summary;
}

std::vector<SpanSummary> SpanGate::summaries() const {
  const env::MutexLock guard(mutex_);
  std::vector<SpanSummary> all = declined_;
  for (const auto& [hash, span] : known_) {
    all.push_back(summary_of(span));
  }
  return all;
}

}  // namespace refrain::replay
