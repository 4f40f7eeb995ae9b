#include "replay/policy/interval_trial.h"

#include <algorithm>
#include <utility>

#include "replay/tuning.h"

namespace refrain::replay {

namespace {
constexpr std::size_t kMostIntervals = 1024;  // limit
constexpr std::size_t kMostDeclined = 64;     // limit: that are told of

/// Whether the program takes far longer to submit an interval than it waits at its end: what is held delays nobody, and
/// launches are what can be saved. Decided with the first plan.
bool host_bound(const RecentCosts& waits, const RecentCosts& intervals,
                std::uint64_t times = tuning::kLittle) noexcept {
  return intervals.count() != 0 && waits.median() * times < intervals.median();
}
/// Whether the program spends most of an interval with something else than submitting and waiting.
bool mostly_by_itself(const RecentCosts& busy, const RecentCosts& whole) noexcept {
  return busy.count() != 0 && busy.median() * 2 < whole.median();
}
/// Not one disturbed sample can be the reason.
bool clearly_less(const RecentCosts& a, const RecentCosts& b) noexcept {
  return a.greatest() * 10 < b.least() * 9;
}
/// By more than any disturbance: one sample of each is enough.
bool beyond_doubt(std::uint64_t less, std::uint64_t than) noexcept {
  return less * 2 < than;
}
bool beyond_doubt(std::uint64_t less, const RecentCosts& than) noexcept {
  return than.count() != 0 && beyond_doubt(less, than.least());
}
/// By more than samples of one kind differ among each other.
bool surely_less(const RecentCosts& a, const RecentCosts& b) noexcept {
  const bool enough = a.count() >= tuning::kIntervalsWanted && b.count() >= tuning::kIntervalsWanted;
  const std::uint64_t noise = enough ? std::min({a.median() - a.low(), b.median() - b.low(), a.low() / 32}) : 0;
  return a.low() + noise < b.low();
}
/// By more than samples differ without a reason.
bool better(std::uint64_t a, std::uint64_t b) noexcept {
  return a * 100 < b * 97;
}
}  // namespace

[[gnu::hot]] void IntervalTrial::launched(const std::shared_ptr<Declinable>& entry) {
  in_graphs_ += entry->size();
  if (enabled_ && !turn_.concluded && std::find(launched_.begin(), launched_.end(), entry) == launched_.end()) {
    launched_.push_back(entry);
  }
}

std::int64_t IntervalTrial::waited(std::uint64_t now, bool may_lose) {
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
  const std::uint64_t kind = kind_of_open();
  successors_.ended(kind);
  // Intervals are only remembered once graphs ran in them.
  auto found = known_.find(kind);
  ++intervals_;
  if (found == known_.end() && in_graphs_ != 0) {
    make_room();
    found = known_.try_emplace(kind).first;
  }
  if (found != known_.end()) {
    found->second.last_seen = intervals_;
    if (turn.trial && !turn.outside) {
      costs.busy = costs.whole - std::min(usual_outside(found->second), costs.whole);
    }
    found->second.submissions = submissions_;
    ++found->second.seen;
    sample(found->second, costs, turn);
    lost = found->second.concluded ? 0 : loss(found->second, costs, turn);
    if (turn.trial && !found->second.concluded) {
      saved_ns_ = sure_saving(found->second, costs, turn);
    }
    if (!found->second.concluded && conclude(found->second)) {
      log_outcome(found->second, "graphs are declined");
      for (const auto& entry : found->second.graphs) {
        const Known& interval = found->second;
        const bool known = interval.eager.count() != 0 && interval.replay[interval.plan].count() != 0;
        entry->declined_by_interval((known ? interval.eager : interval.whole_eager).low(),
                                    (known ? interval.replay : interval.whole)[interval.plan].low());
      }
      if (declined_.size() < kMostDeclined) {
        declined_.push_back(declined_summary_of(found->second));
      }
      known_.erase(found);
    }
  }
  const auto next = known_.find(successors_.expected());
  if (next != known_.end()) {
    const Known& interval = next->second;
    turn_.concluded = interval.concluded;
    turn_.trial = !interval.concluded;
    // Not for ever, if eager turns are never fair.
    turn_.eager = !interval.concluded && !interval.eager_unfair &&
                  (interval.settling || (interval.plan == 0 && interval.eager.count() < tuning::kIntervalsWanted &&
                                         interval.whole[interval.plan].count() > interval.whole_eager.count()));
    // Where no more may be lost, an interval stays with the plan of which it is known that nothing is lost with it, if
    // there is one. (Where the program is busy with itself what is lost cannot be told from noise: see conclude(). And
    // what was concluded before is soon concluded again.)
    const bool may_try = interval.concluded || turn_.eager || may_lose || interval.concluded_eager_ns != 0 ||
                         mostly_by_itself(interval.eager, interval.whole_eager);
    const std::uint32_t fallback_plan = may_try ? kChunkPlans : paying_plan(interval);
    turn_.suspended = !may_try && fallback_plan == kChunkPlans;
    turn_.plan = fallback_plan == kChunkPlans ? interval.plan : fallback_plan;
    turn_.eager = turn_.eager || turn_.suspended;
    turn_.outside = turn_.trial && (turn_.eager || outside_matters(interval));
    if (interval.concluded && next->first == hash_) {
      steady_ = {hash_,
                 tuning::kLookedAtOf - 1,
                 0,
                 0,
                 interval.in_graphs[interval.plan] + interval.submissions / tuning::kMoreGraphs,
                 interval.whole_eager.median(),
                 0};
    }
  } else {
    turn_.eager = turn_.suspended = !may_lose;  // who knows what graphs would do there
  }
  return lost;
}

/// What the interval that is over is known by: its tokens; or its length, where many that long have come and none of
/// them for long.
std::uint64_t IntervalTrial::kind_of_open() {
  if (submissions_ < tuning::kManySubmissions || known_.contains(hash_)) {
    return hash_;
  }
  const std::uint64_t as_long = capture::mix(submissions_, submissions_);
  if (in_graphs_ == 0 || known_.contains(as_long)) {
    return known_.contains(as_long) ? as_long : hash_;
  }
  const auto is_one = [&](const auto& each) {
    const Known& interval = each.second;
    return interval.submissions == submissions_ && interval.seen <= tuning::kHardly && !interval.concluded;
  };
  if (static_cast<std::uint64_t>(std::ranges::count_if(known_, is_one)) + 1 < tuning::kManyAlike) {
    return hash_;
  }
  std::erase_if(known_, is_one);
  return as_long;
}

/// Those that were not seen for longest go, a few at once.
void IntervalTrial::make_room() {
  if (known_.size() < kMostIntervals) {
    return;
  }
  std::vector<std::uint64_t> seen;
  seen.reserve(known_.size());
  for (const auto& [hash, interval] : known_) {
    seen.push_back(interval.last_seen);
  }
  const auto last = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / tuning::kLittle);
  std::ranges::nth_element(seen, last);
  std::erase_if(known_, [&](const auto& interval) { return interval.second.last_seen <= *last; });
}

/// When an interval is looked at: it was there so many times before.
void IntervalTrial::count_passed() noexcept {
  const Steady before = std::exchange(steady_, {});
  if (const auto found = known_.find(before.hash); before.passed != 0 && found != known_.end()) {
    Known& interval = found->second;
    interval.seen += before.passed;
    interval.last_seen = intervals_;
    count(interval, before.passed, before.with_graphs);
    interval.whole[interval.plan].add(before.newest_ns);  // or those that are looked at would be the slow ones
  }
}

std::int64_t IntervalTrial::Known::Unpaid::loss(std::uint64_t each) noexcept {
  return static_cast<std::int64_t>(std::exchange(ns, 0)) -
         static_cast<std::int64_t>(std::exchange(intervals, 0) * each);
}

/// After sample(): what the interval lost if it had graphs, and what earlier ones did if it tells.
std::int64_t IntervalTrial::loss(Known& interval, const Costs& costs, Turn turn) const noexcept {
  if (in_graphs_ != 0) {
    Known::Unpaid& unpaid = turn.trial ? interval.unpaid : interval.unpaid_whole;
    unpaid.ns += turn.trial ? costs.busy : costs.whole;
    ++unpaid.intervals;
  }
  if (interval.eager.count() == 0) {
    return 0;
  }
  const std::int64_t lost =
      interval.unpaid.loss(interval.eager.median()) + interval.unpaid_whole.loss(interval.whole_eager.median());
  return mostly_by_itself(interval.eager, interval.whole_eager) ? 0 : lost;
}

void IntervalTrial::sample(Known& interval, const Costs& costs, Turn turn) {
  // A graph that became ready in the middle of an eager turn was launched all the same: no sample of either. And a plan
  // is not known before its graphs are there.
  // (The same of a short interval may leave an odd one out.)
  const std::uint64_t most = std::max(interval.in_graphs[0], in_graphs_);
  const std::uint64_t missing = submissions_ < tuning::kManySubmissions ? most / 2 : most / 16;
  const bool complete = turn.eager ? in_graphs_ == 0 : in_graphs_ != 0 && in_graphs_ + missing >= most;
  const bool fair = !disturbed_ && looked_at_ * tuning::kLittle <= submissions_ && complete;
  interval.eager_unfair = turn.eager && !fair;
  // Graphs become ready one by one, when there is time and budget to build them: more of them are something else.
  if (!turn.eager && in_graphs_ > interval.in_graphs[turn.plan] + submissions_ / tuning::kMoreGraphs) {
    interval.in_graphs[turn.plan] = in_graphs_;
    interval.replay[turn.plan].clear();
    interval.whole[turn.plan].clear();
    if (turn.plan == 0) {
      interval.waits.clear();
    }
    interval.concluded = interval.confirming = interval.settling = false;
    interval.plan = turn.plan;
    interval.tries = 0;
  }
  if (!turn.eager && in_graphs_ == 0 && turn.plan == paying_plan(interval)) {  // its graphs are gone
    interval.replay[turn.plan].clear();
    interval.whole[turn.plan].clear();
  }
  if (fair) {
    (turn.eager ? interval.whole_eager : interval.whole[turn.plan]).add(costs.whole);
    if (turn.trial) {
      (turn.eager ? interval.eager : interval.replay[turn.plan]).add(costs.busy);
    }
    if (!turn.eager && turn.plan == 0) {
      interval.waits.add(costs.wait);
    }
    if (turn.eager && interval.settling) {
      interval.newest_eager_ns = costs.whole;
    }
  }
  if (!interval.concluded) {
    interval.tries += turn.suspended || turn.plan != interval.plan ? 0 : 1;
    for (const auto& entry : launched_) {
      if (std::find(interval.graphs.begin(), interval.graphs.end(), entry) == interval.graphs.end()) {
        interval.graphs.push_back(entry);
      }
    }
    return;
  }
  // All of the last ones were slower than eager intervals usually were: something has changed.
  const RecentCosts& mine = interval.whole[interval.plan];
  const bool regret = fair && mine.count() >= RecentCosts::kKept && mine.least() > interval.whole_eager.median();
  // Or the program has only begun then, and what was found out says nothing of what it does now.
  const bool faster = mine.count() >= RecentCosts::kKept &&
                      beyond_doubt(mine.greatest(), interval.concluded_graph_ns) &&
                      !mostly_by_itself(interval.eager, interval.whole_eager);
  count(interval, 1, in_graphs_ != 0 ? 1 : 0);
  if (interval.replays >= interval.next_check || regret || faster) {
    interval.checks += faster ? 0 : 1;
    start_over(interval);
  }
}

void IntervalTrial::start_over(Known& interval) {
  interval.concluded = interval.confirming = interval.settling = interval.doubted = false;
  interval.plan = interval.tries = 0;
  interval.eager.clear();
  interval.whole_eager.clear();
  for (std::uint32_t plan = 0; plan < kChunkPlans; ++plan) {
    interval.replay[plan].clear();
    interval.whole[plan].clear();
  }
  interval.in_graphs = {};
  interval.waits.clear();
}

/// What an eager interval takes, without what the program does by itself if that is known: a disturbance of the machine
/// is small beside a long one.
std::uint64_t IntervalTrial::decisive(const Known& interval) noexcept {
  return (interval.eager.count() != 0 ? interval.eager : interval.whole_eager).median();
}

/// What the program does by itself in an eager interval.
std::uint64_t IntervalTrial::usual_outside(const Known& interval) noexcept {
  if (interval.eager.count() == 0 || interval.whole_eager.count() == 0) {
    return 0;
  }
  const std::uint64_t whole = interval.whole_eager.median();
  return whole - std::min(interval.eager.median(), whole);
}

/// Whether what the program does by itself is to be measured while the interval runs with graphs. That takes a look at
/// the clock for each submission. One of a program that takes no longer than that comes twice as late then, and the
/// device runs dry where it would not otherwise: another plan would seem to be the best.
bool IntervalTrial::outside_matters(const Known& interval) const noexcept {
  return interval.eager.count() < tuning::kClearWanted ||
         usual_outside(interval) * tuning::kNothing > interval.whole_eager.median();
}

/// While an interval is on trial, what its graphs save pays for building the others: without them it might stay on
/// trial.
std::uint64_t IntervalTrial::sure_saving(const Known& interval, const Costs& costs, Turn turn) const noexcept {
  const bool sure = interval.eager.count() >= tuning::kClearWanted || beyond_doubt(costs.busy, interval.eager);
  return in_graphs_ != 0 && !turn.eager && sure ? std::max(interval.eager.least(), costs.busy) - costs.busy : 0;
}

/// The fastest of the plans that are faster than none beyond doubt, as far as is known now. kChunkPlans: there is none
/// yet.
std::uint32_t IntervalTrial::paying_plan(const Known& interval) noexcept {
  std::uint32_t best = kChunkPlans;
  for (std::uint32_t plan = 0; plan < kChunkPlans; ++plan) {
    const RecentCosts& with = interval.replay[plan];
    const bool several = with.count() >= tuning::kClearWanted && interval.eager.count() >= tuning::kClearWanted;
    const bool pays = several ? clearly_less(with, interval.eager)
                              : with.count() != 0 && beyond_doubt(with.greatest(), interval.eager);
    if (pays && (best == kChunkPlans || with.low() < interval.replay[best].low())) {
      best = plan;
    }
  }
  return best;
}

/// Whether enough is known of the plan that is being tried.
bool IntervalTrial::plan_known(const Known& interval) const noexcept {
  const RecentCosts& mine = interval.replay[interval.plan];
  const std::uint64_t few =
      std::max(tuning::kIntervalsWanted, tuning::kTriedSubmissions / std::max<std::uint64_t>(interval.submissions, 1));
  if (interval.tries >= tuning::kMostTries || (interval.plan != 0 && mine.count() == 0 && interval.tries >= few)) {
    return true;
  }
  // Of short intervals the first eager samples are those of a program that has only begun; and more of them cost
  // little.
  const std::uint64_t needed =
      decisive(interval) < tuning::kLongIntervalNs ? tuning::kIntervalsWanted : tuning::kClearWanted;
  if (mine.count() < tuning::kClearWanted ||
      (interval.plan == 0 && (mine.count() < needed || interval.eager.count() < needed))) {
    return false;
  }
  if (interval.plan == 0) {
    return (mine.count() >= tuning::kIntervalsWanted && interval.eager.count() >= tuning::kIntervalsWanted) ||
           clearly_less(mine, interval.eager) || clearly_less(interval.eager, mine);
  }
  // A further plan is given up as soon as it does not look better, and is taken only if it surely is. But where there
  // are fewer launches for a program that hardly waits, they are fewer, whether the noise shows it or not.
  if (interval.plan == kFewLaunches && host_bound(interval.waits, interval.whole[0])) {
    return mine.count() >= tuning::kIntervalsWanted;
  }
  return mine.count() >= tuning::kIntervalsWanted || !better(mine.least(), interval.replay[0].low());
}

/// The fastest plan. A later one must be better by more than its samples may be wrong; where the host is the slower
/// one, by more than a phase of the machine's might make it.
void IntervalTrial::choose(Known& interval) const noexcept {
  interval.plan = 0;
  const RecentCosts& few = interval.replay[kFewLaunches];
  if (plans_ > kFewLaunches && few.count() >= tuning::kIntervalsWanted &&
      interval.in_graphs[kFewLaunches] + interval.submissions / tuning::kLittle >= interval.in_graphs[0] &&
      host_bound(interval.waits, interval.whole[0]) && !surely_less(interval.replay[0], few)) {
    interval.plan = kFewLaunches;
  }
  const bool fewest = interval.plan == kFewLaunches;
  for (std::uint32_t plan = interval.plan + 1; plan < plans_; ++plan) {
    const RecentCosts& known = interval.replay[interval.plan];
    const RecentCosts& other = interval.replay[plan];
    const bool faster = fewest ? clearly_less(other, known) : better(other.low(), known.low());
    if (other.count() >= tuning::kIntervalsWanted && (known.count() == 0 || faster)) {
      interval.plan = plan;
    }
  }
}

/// Goes on to the next plan when enough is known of this one, and chooses when all were tried. True if none of them is
/// better than eager execution.
bool IntervalTrial::conclude(Known& interval) {
  if (interval.settling) {
    settle(interval);
    return false;
  }
  const RecentCosts& first = interval.replay[0];
  // No plan makes up for half as long again; and one sample is enough where each is dear.
  const std::uint64_t needed = decisive(interval) >= tuning::kLongIntervalNs ? 1 : tuning::kClearWanted;
  const auto half_as_long_again = [](const RecentCosts& with, const RecentCosts& without, std::uint64_t samples) {
    return with.count() >= samples && without.count() >= samples && with.least() * 2 > without.greatest() * 3;
  };
  // Of what is mostly the program's own doing a few samples say nothing: machines have phases in which all takes twice
  // as long.
  const std::uint64_t whole_needed =
      mostly_by_itself(interval.eager, interval.whole_eager) ? tuning::kIntervalsWanted : needed;
  if (interval.plan == 0 && !interval.confirming &&
      (half_as_long_again(first, interval.eager, needed) ||
       half_as_long_again(interval.whole[0], interval.whole_eager, whole_needed))) {
    return declines(interval);
  }
  if (!plan_known(interval)) {
    return false;
  }
  interval.tries = 0;
  // Where the program waits for longer than it submits, the device is the slower one: it has always work in front of
  // it, and dividing it otherwise would only cost more launches. (In a short interval waiting is mostly the way to the
  // device and back, which says nothing.)
  const bool device_bound = first.count() != 0 && interval.submissions >= tuning::kManySubmissions &&
                            interval.waits.median() * 2 > interval.whole[0].median();
  // Where the program is busy with itself and hardly waits, more launches can only cost more, and to try them takes
  // many long intervals.
  const bool by_itself = mostly_by_itself(first, interval.whole[0]);
  const bool fewest =
      interval.plan >= kFewLaunches && by_itself && host_bound(interval.waits, interval.whole[0], tuning::kNothing);
  // What another plan can gain where there is little but the program's own doing pays for its graphs in a program that
  // lives for long: they have time until the first check.
  const bool little_to_gain = interval.seen < tuning::kFirstCheck && first.count() != 0 &&
                              first.median() * tuning::kLittle < interval.whole[0].median();
  const bool enough = device_bound || fewest || little_to_gain;
  const std::uint32_t next = enough ? plans_ : interval.plan + 1;
  if (!interval.confirming && interval.plan < next && next < plans_) {
    interval.plan = next;
    return false;
  }
  choose(interval);
  // The plans were measured one after the other, and the machine may have become faster meanwhile: the first one once
  // more, in the same moment as the last.
  if (interval.plan != 0 && !interval.confirming) {
    interval.confirming = true;
    interval.plan = 0;
    interval.replay[0].clear();
    interval.whole[0].clear();
    return false;
  }
  interval.confirming = false;
  // Graphs have to gain something: what eager intervals cost on trial contains what looking at them costs, and if
  // graphs are declined, the lane is dormant. Only where the program is busy with itself so little cannot be told, and
  // graphs stay unless they surely lose: each of them is known to be cheaper to submit.
  const RecentCosts& chosen = interval.replay[interval.plan];
  const bool declined = by_itself ? surely_less(interval.eager, chosen) : !better(chosen.low(), interval.eager.low());
  if (chosen.count() >= tuning::kClearWanted && interval.eager.count() >= tuning::kClearWanted && declined) {
    return declines(interval);
  }
  // Should the program itself take longer with graphs, for a reason that nobody knows of, then that counts as well.
  const RecentCosts& whole = interval.whole[interval.plan];
  if (whole.count() >= tuning::kIntervalsWanted && interval.whole_eager.count() >= tuning::kIntervalsWanted &&
      clearly_less(interval.whole_eager, whole)) {
    return declines(interval);
  }
  if (by_itself) {  // one more says nothing, and neither does the whole
    const std::uint64_t saved = interval.eager.low() - std::min(chosen.low(), interval.eager.low());
    stay(interval, whole.low() + saved);
  } else {
    interval.settling = true;
    interval.newest_eager_ns = 0;
  }
  return false;
}

/// Eager intervals were measured first, when the program had only begun: its code was being loaded, its memory was new.
/// If one that comes now shows that they say nothing any more, all is measured once more.
void IntervalTrial::settle(Known& interval) const {
  const std::uint64_t newest = interval.newest_eager_ns;
  if (newest == 0 && interval.tries < tuning::kMostTries) {
    return;
  }
  interval.settling = false;
  if (newest != 0 && !interval.settled_before &&
      (newest < interval.whole[interval.plan].low() || beyond_doubt(newest, interval.whole_eager))) {
    start_over(interval);
    interval.settled_before = true;
    return;
  }
  stay(interval, std::min(interval.whole_eager.low(), newest != 0 ? newest : ~newest));
}

/// The graphs stay. `eager_ns`: what the interval would take without them, now.
void IntervalTrial::stay(Known& interval, std::uint64_t eager_ns) const {
  log_outcome(interval, "graphs stay");
  interval.settled_before = false;
  interval.concluded_eager_ns = eager_ns;
  interval.concluded_graph_ns = interval.whole[interval.plan].low();
  interval.concluded = true;
  interval.graphs = {};
  interval.replays = 0;
  const std::uint64_t worth = eager_ns / std::max<std::uint64_t>(interval.concluded_graph_ns, 1);
  interval.next_check = next_check(worth, interval.checks);
}

/// Of what is mostly the program's own doing all is measured once more before graphs are declined: in a phase of the
/// machine in which all takes longer, graphs seem to lose.
bool IntervalTrial::declines(Known& interval) {
  if (interval.doubted || !mostly_by_itself(interval.eager, interval.whole_eager)) {
    return true;
  }
  start_over(interval);
  interval.doubted = true;
  return false;
}

}  // namespace refrain::replay
