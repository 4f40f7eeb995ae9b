#include "replay/span_gate.h"

#include <algorithm>

#include "replay/graph_entry.h"

namespace refrain::replay {

namespace {
constexpr std::size_t kMostSpans = 1024;
constexpr std::uint64_t kWanted = 5;
constexpr std::uint64_t kClearWanted = 2;  ///< if graphs save more than a tenth
constexpr std::uint64_t kFew = 8;          ///< one submission in so many may be looked at
constexpr std::uint64_t kLongestCheck = 4096;
}  // namespace

void SpanGate::launched(const std::shared_ptr<GraphEntry>& entry) {
  if (enabled_ && std::find(launched_.begin(), launched_.end(), entry) == launched_.end()) {
    launched_.push_back(entry);
  }
}

void SpanGate::waited(std::uint64_t now) {
  if (!open_) {
    return;
  }
  open_ = false;
  if (!enabled_) {
    return;
  }
  const std::uint64_t cost = now - start_ns_;
  const bool was_eager_turn = eager_turn_;
  eager_turn_ = false;
  const auto before = known_.find(previous_);
  if (before != known_.end()) {
    before->second.successor = hash_;
  }
  previous_ = hash_;
  // Spans are only remembered once graphs ran in them.
  const auto found = known_.find(hash_);
  if (found == known_.end() && (launched_.empty() || known_.size() >= kMostSpans)) {
    return;
  }
  Known& span = found != known_.end() ? found->second : known_[hash_];
  if (!disturbed_ && looked_at_ * kFew <= submissions_) {
    if (!launched_.empty()) {
      span.replay.add(cost);
      ++span.replays;
    } else if (was_eager_turn) {
      span.eager.add(cost);
    }
  }
  const bool enough = span.replay.count() >= kWanted && span.eager.count() >= kWanted;
  const bool clear = span.replay.count() >= kClearWanted && span.eager.count() >= kClearWanted &&
                     span.replay.median() * 10 < span.eager.median() * 9;
  if (!span.settled && (enough || clear)) {
    span.settled = true;
    if (span.replay.median() > span.eager.median()) {
      for (const auto& entry : launched_) {
        entry->declined_by_span(span.eager.median(), span.replay.median());
      }
      known_.erase(hash_);
      return;
    }
  }
  if (span.settled && span.replays >= span.next_check) {
    span.next_check = span.replays + std::min(span.next_check * 8, kLongestCheck);
    span.settled = false;
    span.replay.clear();
    span.eager.clear();
  }
  // Which span comes next? If it wants eager samples, it runs without graphs.
  const auto next = known_.find(span.successor != 0 ? span.successor : hash_);
  if (next != known_.end() && !next->second.settled && next->second.replay.count() > next->second.eager.count()) {
    eager_turn_ = true;
  }
}

}  // namespace refrain::replay
