// A lane in which nothing pays does not look at what is submitted for a while, then for longer and longer.
#include <algorithm>
#include <exception>

#include "replay/lane.h"
#include "replay/lane_state.h"

namespace refrain::replay {
namespace {

// It looks at this many submissions, then sleeps for so many times as many, at first and in the end.
constexpr std::uint64_t kAwake = 4096;
constexpr std::uint64_t kShortestSleep = 4, kLongestSleep = 64;

/// 0: lanes never sleep.
std::uint64_t awake_for(const env::Settings& settings) {
  if (settings.mode != env::Mode::kReplay) {
    return 0;
  }
  return settings.awake != 0 ? settings.awake : settings.gate ? kAwake : 0;
}

}  // namespace

void Lane::start_awake() noexcept {
  state_->awake_for = awake_for(engine_.settings());
  state_->sleep_length = kShortestSleep * state_->awake_for;
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
  stay_awake();
  try {
    static_cast<void>(state.matcher.cut());  // what comes next does not follow what was seen last
  } catch (const std::exception& error) {
    engine_.fail(error.what());
  }
}

void Lane::stay_awake() noexcept {
  State& state = *state_;
  state.awake_since = sequence_;
  state.replayed_before = state.counters.replayed.get();
  state.hopeless_before = state.hopeless();
  state.taken_over = 0;
  state.all_replayed_before = engine_.shared().replayed.load(std::memory_order_relaxed);
}

/// When the program waits, with nothing held: if nothing was replayed for long, even looking costs too much.
void Lane::consider_sleep() noexcept {
  State& state = *state_;
  const std::uint64_t seen = sequence_ - state.awake_since;
  if (state.awake_for == 0 || seen < state.awake_for || held_count_.load(std::memory_order_relaxed) != 0) {
    return;
  }
  if (state.spans.comparing() && state.spans.submissions() * 2 >= state.awake_for) {
    return;  // one long span without graphs would be enough for a sleep, before it was measured
  }
  if ((state.counters.replayed.get() - state.replayed_before) * 10 >= seen) {
    state.sleep_length = kShortestSleep * state.awake_for;
    stay_awake();
    return;
  }
  // What repeats is known and does not pay; or nothing repeats, over more than the history can compare.
  const std::uint64_t hopeless = state.hopeless() - state.hopeless_before;
  if (hopeless * 10 < seen * 9 && seen < 4 * static_cast<std::uint64_t>(engine_.settings().history)) {
    return;
  }
  if (others_replay()) {
    return;
  }
  asleep_ = state.sleep_length;
  state.sleep_length = std::min(state.sleep_length * 2, kLongestSleep * state.awake_for);
  state.spans.abandon();
}

}  // namespace refrain::replay
