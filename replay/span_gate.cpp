#include "replay/span_gate.h"

#include <algorithm>
#include <utility>

#include "replay/graph_entry.h"

namespace refrain::replay {

namespace {
constexpr std::size_t kMostSpans = 1024;
constexpr std::uint64_t kWanted = 5;
constexpr std::uint64_t kClearWanted = 2;         ///< if the difference is more than a tenth
constexpr std::uint64_t kMany = 128;              ///< one submission in so many more in graphs is something else
constexpr std::uint64_t kFew = 8;                 ///< one submission in so many may be looked at
constexpr std::uint64_t kLongSpanNs = 1'000'000;  ///< a disturbance of the machine is small beside it
constexpr std::uint32_t kMostTries = 64;          ///< spans in which a way can show what it is worth
// Eager spans are measured again now and then. The more graphs save, the more that costs, and the less likely it is
// that the answer has changed: so many spans go by for each span's worth of time.
constexpr std::uint64_t kFirstCheck = 256;
constexpr std::uint64_t kLongestCheck = 32768;

bool clearly_less(std::uint64_t a, std::uint64_t b) noexcept {
  return a * 10 < b * 9;
}
}  // namespace

void SpanGate::launched(const std::shared_ptr<GraphEntry>& entry) {
  in_graphs_ += entry->size();
  if (enabled_ && !turn_.settled && std::find(launched_.begin(), launched_.end(), entry) == launched_.end()) {
    launched_.push_back(entry);
  }
}

std::uint64_t SpanGate::waited(std::uint64_t now, bool may_lose) {
  if (!open_) {
    return 0;
  }
  open_ = false;
  if (!enabled_) {
    return 0;
  }
  std::uint64_t lost = 0;
  const std::uint64_t cost = now - start_ns_;
  const Turn turn = std::exchange(turn_, {});
  successor_of(previous_) = {previous_, hash_};
  previous_ = hash_;
  // Spans are only remembered once graphs ran in them.
  auto found = known_.find(hash_);
  if (found == known_.end() && in_graphs_ != 0 && known_.size() < kMostSpans) {
    found = known_.try_emplace(hash_).first;
  }
  if (found != known_.end()) {
    sample(found->second, cost, turn);
    lost = found->second.settled ? 0 : loss(found->second, cost);
    if (!found->second.settled && settle(found->second)) {
      for (const auto& entry : found->second.graphs) {
        entry->declined_by_span(found->second.eager.median(), found->second.replay[found->second.way].median());
      }
      known_.erase(found);
    }
  }
  const Successor& successor = successor_of(hash_);
  const auto next = known_.find(successor.span == hash_ ? successor.next : hash_);
  if (next != known_.end()) {
    const Known& span = next->second;
    turn_.way = span.way;
    turn_.settled = span.settled;
    turn_.trial = !span.settled;
    // Not for ever, if eager turns are never fair.
    turn_.eager = !span.settled && !span.eager_unfair && span.eager.count() < kWanted &&
                  span.replay[span.way].count() > span.eager.count();
    turn_.resting = !span.settled && !turn_.eager && !may_lose;
    turn_.eager = turn_.eager || turn_.resting;
  } else {
    turn_.eager = turn_.resting = !may_lose;  // who knows what graphs would do there
  }
  return lost;
}

/// After sample(): what the span lost if it had graphs, and what earlier ones did if it tells.
std::uint64_t SpanGate::loss(Known& span, std::uint64_t cost) const noexcept {
  const std::uint64_t eager = span.eager.median();
  if (in_graphs_ != 0) {
    span.unpaid += cost;
    ++span.unpaid_spans;
  }
  if (eager == 0) {
    return 0;
  }
  const std::uint64_t without = std::exchange(span.unpaid_spans, 0) * eager;
  const std::uint64_t with = std::exchange(span.unpaid, 0);
  return with > without ? with - without : 0;
}

void SpanGate::sample(Known& span, std::uint64_t cost, Turn turn) {
  // A graph that became ready in the middle of an eager turn was launched all the same: no sample of either.
  const bool fair = !disturbed_ && looked_at_ * kFew <= submissions_ && turn.eager == (in_graphs_ == 0);
  span.eager_unfair = turn.eager && !fair;
  // Graphs become ready one by one, when there is time and budget to build them: more of them are something else.
  if (!turn.eager && in_graphs_ > span.in_graphs[turn.way] + submissions_ / kMany) {
    span.in_graphs[turn.way] = in_graphs_;
    span.replay[turn.way].clear();
    span.settled = false;
    span.way = turn.way;
    span.tries = 0;
  }
  if (fair) {
    (turn.eager ? span.eager : span.replay[turn.way]).add(cost);
  }
  if (!span.settled) {
    span.tries += turn.resting ? 0 : 1;
    for (const auto& entry : launched_) {
      if (std::find(span.graphs.begin(), span.graphs.end(), entry) == span.graphs.end()) {
        span.graphs.push_back(entry);
      }
    }
    return;
  }
  if (++span.replays >= span.next_check) {
    ++span.checks;
    span.settled = false;
    span.way = span.tries = 0;
    span.eager.clear();
    for (RecentCosts& costs : span.replay) {
      costs.clear();
    }
    span.in_graphs = {};
  }
}

/// Goes on to the next way when enough is known of this one, and chooses when all were tried. True if none of them is
/// better than eager execution.
bool SpanGate::settle(Known& span) {
  const RecentCosts& mine = span.replay[span.way];
  const std::uint64_t eager = span.eager.median();
  std::uint64_t best = eager;
  for (std::uint32_t way = 0; way < span.way; ++way) {
    best = span.replay[way].count() >= kClearWanted ? std::min(best, span.replay[way].median()) : best;
  }
  // No way of dividing it makes up for half as long again; and one sample is enough where each is dear.
  const std::uint64_t needed = eager >= kLongSpanNs ? 1 : kClearWanted;
  if (span.way == 0 && mine.count() >= needed && span.eager.count() >= needed && mine.median() * 2 > eager * 3) {
    return true;
  }
  const bool enough = mine.count() >= kWanted && span.eager.count() >= kWanted;
  const bool clear = mine.count() >= kClearWanted && span.eager.count() >= kClearWanted &&
                     (clearly_less(mine.median(), best) || clearly_less(best, mine.median()));
  if (!enough && !clear && span.tries < kMostTries) {
    return false;
  }
  span.tries = 0;
  if (++span.way < ways_) {
    return false;
  }
  // A later way must be better by more than its samples may be wrong.
  std::uint32_t chosen = ways_;
  for (std::uint32_t way = 0; way < ways_; ++way) {
    if (span.replay[way].count() >= kClearWanted &&
        (chosen == ways_ || span.replay[way].median() * 50 < span.replay[chosen].median() * 49)) {
      chosen = way;
    }
  }
  span.way = chosen == ways_ ? 0 : chosen;
  if (chosen != ways_ && span.eager.count() >= kClearWanted && span.replay[chosen].median() > eager) {
    return true;
  }
  span.settled = true;
  span.graphs = {};
  span.replays = 0;
  const std::uint64_t replay = std::max<std::uint64_t>(span.replay[span.way].median(), 1);
  const std::uint64_t wait = kFirstCheck * std::max<std::uint64_t>(eager / replay, 1);
  span.next_check = std::min(wait << std::min<std::uint64_t>(3 * span.checks, 12), kLongestCheck);
  return false;
}

}  // namespace refrain::replay
