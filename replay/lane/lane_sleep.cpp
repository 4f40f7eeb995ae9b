// While a lane sleeps it only counts what is submitted (policy/dormancy.h).
#include <exception>

#include "replay/lane/lane.h"
#include "replay/lane/lane_state.h"

namespace refrain::replay {

Dormancy::Seen Lane::seen() const noexcept {
  return {.submissions = sequence_,
          .replayed = state_->counters.replayed.get(),
          .hopeless = state_->hopeless(),
          .replayed_by_all = state_->context.replayed.load(std::memory_order_relaxed)};
}

std::uint64_t Lane::doze() noexcept {
  State& state = *state_;
  ++sequence_;
  state.counters.submissions.add();
  state.counters.asleep.add();
  state.bypass = true;
  state.verdict = Verdict::kIssue;
  if (--asleep_ == 0) {
    wake_up();
  }
  Submitting{*this};  // waits where nobody may submit; the call itself is not known to end
  return sequence_;
}

void Lane::wake_up() noexcept {
  State& state = *state_;
  state.dormancy.wake(seen());
  try {
    static_cast<void>(state.matcher.cut());  // what comes next does not follow what was seen last
  } catch (const std::exception& error) {
    engine_.fail(error.what());
  }
}

/// When the program waits, with nothing held: if nothing was replayed for long, even looking costs too much.
void Lane::consider_sleep() noexcept {
  State& state = *state_;
  if (!state.dormancy.is_due(sequence_) || held_count_.load(std::memory_order_relaxed) != 0) {
    return;
  }
  asleep_ = state.dormancy.consider(seen(), state.spans.comparing() ? state.spans.submissions() : 0);
  if (asleep_ != 0) {
    state.spans.abandon();
  }
}

}  // namespace refrain::replay
