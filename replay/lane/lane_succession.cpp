// A lane outlives its thread: programs that start threads again and again, for each step of a loop, do in each what an
// earlier one did.
#include "replay/lane/lane.h"
#include "replay/lane/lane_state.h"

namespace refrain::replay {

void Lane::thread_ends() noexcept {
  static const EntryPoint end{"the end of its thread"};
  look_at_unseen(false);  // without asking: since these calls another thread may have destroyed their streams
  static_cast<void>(host_call(end));  // nobody is there any more to be told of an error
  flush(false);                       // what a lane holds that does not look at host calls (the engine was stopped)
  State& state = *state_;
  expect_nothing();
  state.spans.abandon();
  state.flush_error = 0;
  state.away_ns = 0;
  state.tuner.thread_ends();
  state.trials.pause();
}

void Lane::thread_begins() noexcept {
  state_->trials.resume();
}

}  // namespace refrain::replay
