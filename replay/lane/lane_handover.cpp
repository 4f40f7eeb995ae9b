// Threads that take turns with a queue.
#include <exception>

#include "replay/lane/lane.h"
#include "replay/lane/lane_state.h"

namespace refrain::replay {

namespace {

/// Like a host call in the history.
constexpr capture::Token kHandover = 0x9F0C5A7E61D34B82ULL;

}  // namespace

/// The newest work in this queue is another thread's. Threads that take turns do so at the same places again and again
/// (PyTorch goes forward in one, and backward in another), and such a place divides what is held as a host call does:
/// work that was held across it would be flushed by the other thread each time.
void Lane::take_over(QueueSlot& queue) noexcept {
  State& state = *state_;
  if (inside_lane || !engine_.active.load(std::memory_order_relaxed) ||
      queue.newest.exchange(this, std::memory_order_relaxed) == nullptr) {
    return;
  }
  state.dormancy.queue_taken_over();
  if (asleep_ != 0) {  // the other one is not, or nothing would be held anywhere
    asleep_ = 0;
    wake_up();
    return;
  }
  if (!state.stretch_open) {
    return;
  }
  state.stretch_open = false;
  state.dormancy.stretch_ends(sequence_, state.hopeless());
  state.tuner.stop_app_clock();
  state.counters.cuts.add();
  state.occurrences.abort();
  const bool was_holding = held_count_.load(std::memory_order_acquire) != 0;
  try {
    const HeldLock lock(*this, was_holding);
    state.cut_by.add("another thread's work in the same queue");
    // A thread that never waits for the device, but hands on: nobody waits for what it holds, and no span of its own
    // will show which way is the fastest.
    if (!state.waited && state.way != kFewLaunches && state.tuner.has_few_launches()) {
      state.way = kFewLaunches;
      state.matcher.use_lengths(state.way);
    }
    for (const Action& action : state.matcher.cut(kHandover, false)) {
      note_error(apply(action));
    }
    if (was_holding) {
      publish();
    }
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
  }
}

}  // namespace refrain::replay
