// How a lane calls the driver, and what it holds: how that is submitted, launched or flushed, with the lane's lock
// held, by its own thread or by one that flushes it.
#include <algorithm>
#include <exception>
#include <string>

#include "env/log.h"
#include "env/reserve.h"
#include "replay/lane/lane.h"
#include "replay/lane/lane_state.h"
#include "replay/verify/verify.h"

namespace refrain::replay {

using capture::OperationView;

namespace {

// Beyond this the front of the held bytes, already submitted, is cut off.
constexpr std::size_t kCompactAfter = 4096;

}  // namespace

/// The driver is about to be called, until end_submitting(): see RightOfWay and SubmissionPause.
[[gnu::hot]] void Lane::begin_submitting() noexcept {
  give_way();
  if (state_->replaying) {
    state_->context.backend.submission_pause().enter(state_->place);
  }
}

[[gnu::hot]] void Lane::end_submitting() noexcept {
  backends::SubmissionPause::leave(state_->place);
}

[[gnu::hot]] void Lane::give_way() noexcept {
  if (state_->context.backend.right_of_way().claimed()) [[unlikely]] {
    give_way_to_claim();
  }
}

void Lane::give_way_to_claim() noexcept {
  // Few threads are often enough all out of the driver (docs/decisions/0005). One more waits for them, in most
  // programs.
  constexpr std::size_t kCrowd = 4;
  if (state_->context.open_lanes.load(std::memory_order_relaxed) < kCrowd) {
    return;
  }
  const std::uint64_t waited_ns = state_->context.backend.right_of_way().give();
  if (waited_ns != 0) {
    state_->context.budget.spend(waited_ns);
    state_->spans.disturbed();
  }
}

/// The caller is about to call the driver, and will then call issued().
void Lane::enter_standstill() noexcept {
  if (Standstill* standstill = state_->standstill; standstill != nullptr && !state_->bypass) [[unlikely]] {
    standstill->enter({&state_->queue, 1});
    state_->entered = true;
  }
}

void Lane::issue_all_held() {
  State& state = *state_;
  static_cast<void>(state.matcher.expire());
  const std::size_t left = state.held_offsets.size() - state.held_head;
  if (left != 0) {
    note_error(apply({Action::Kind::kIssue, static_cast<std::uint32_t>(left), kNoChunk}));
  }
  publish();
}

/// After a failure, with the lock held: nobody asks any more what repeats.
void Lane::issue_rest() noexcept {
  try {
    catch_up();
    const std::size_t left = state_->held_offsets.size() - state_->held_head;
    if (left != 0) {
      note_error(apply({Action::Kind::kIssue, static_cast<std::uint32_t>(left), kNoChunk}));
    }
    publish();
  } catch (const std::exception& failure) {
    env::log_error({"held work could not be submitted: ", failure.what()});
  }
}

void Lane::abandon() noexcept {
  State& state = *state_;
  if (state.verdict == Verdict::kHold) {
    try {
      // Half a record may lie behind the last complete one.
      const std::size_t complete =
          state.held_offsets.empty()
              ? 0
              : state.held_offsets.back() +
                    OperationView(state.held_bytes.data() + state.held_offsets.back()).header().size;
      state.held_bytes.resize(complete);
      issue_all_held();
    } catch (const std::exception& failure) {
      engine_.fail(failure.what());
      issue_rest();
    }
    state.has_pending = false;
    state.locked_by_owner = false;
    mutex_.unlock();
    begin_submitting();
    enter_standstill();
  }
  state.verdict = Verdict::kIssue;
}

[[gnu::hot]] int Lane::apply(const Action& action) {
  State& state = *state_;
  const Inside guard;
  const env::UseReserve reserve;
  SubmitContext context{state_->context.backend, state_->context.hooks, state.window};
  state.views.resize(action.count);
  const std::byte* const bytes = state.held_bytes.data();
  const std::size_t* const offsets = state.held_offsets.data() + state.held_head;
  for (std::uint32_t i = 0; i < action.count; ++i) {
    state.views[i] = OperationView(bytes + offsets[i]);
  }
  int error = 0;
  bool launched = false;
  if (action.kind == Action::Kind::kLaunch) {
    error = launch(context, action, &launched);
  }
  if (!launched) {
    const Entered entered(state_->context.standstill.get(), state.held_queues);
    std::uint32_t issued = 0;
    try {
      for (const OperationView& operation : state.views) {
        const Submitting submitting(*this);
        const int status = issue_held(context, operation, queue_info(operation));
        error = error != 0 ? error : status;
        ++issued;
      }
    } catch (...) {
      note_error(error);
      popped(issued);  // the driver has these
      throw;
    }
    state.counters.held_issued.add(action.count);
  }
  popped(action.count);
  if (reserve.used()) [[unlikely]] {
    engine_.fail("out of memory while held work was submitted");
  }
  return error;
}

[[gnu::hot]] int Lane::launch(const SubmitContext& context, const Action& action, bool* launched) {
  State& state = *state_;
  const std::shared_ptr<GraphEntry>& entry = entry_of(action.chunk);
  if (entry == nullptr) {
    return 0;
  }
  if (state_->context.settings.mode == env::Mode::kVerify) {
    return launch_verified(context, entry, launched);
  }
  const Submitting submitting(*this);
  const auto result =
      entry->launch(context, state.views, state.tuner.hold_cost_ns() * action.count, state.spans.proven());
  *launched = result.launch == Launched::kDone;
  try {
    if (!result.new_objects.empty()) {
      state_->context.graphs.objects_changed(entry, result.new_objects);
    }
    if (result.wants_build) {
      request_variant(entry);
    }
    if (*launched) {
      count_launch(entry, result);
    }
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());  // the driver has what was launched
  }
  return result.error;
}

[[gnu::hot]] void Lane::count_replayed(std::size_t operations, std::size_t native) {
  LaneCounters& counters = state_->counters;
  counters.replayed.add(native);
  counters.between.add(operations - native);
  counters.launches.add();
}

[[gnu::hot]] void Lane::count_launch(const std::shared_ptr<GraphEntry>& entry, const GraphLaunch& launch) {
  State& state = *state_;
  count_replayed(entry->size(), launch.native);
  state_->context.replayed.fetch_add(launch.native, std::memory_order_relaxed);
  state.spans.launched(entry);
  if (launch.excess_ns != 0) {
    state_->context.budget.spend(launch.excess_ns);
  }
  if (launch.saved_ns != 0 && !state.spans.on_trial()) {  // what is cheap to submit may be late to finish
    state_->context.budget.earn(launch.saved_ns);
  }
}

int Lane::launch_verified(const SubmitContext& context, const std::shared_ptr<GraphEntry>& entry, bool* launched) {
  State& state = *state_;
  std::vector<capture::QueueInfo> queues;
  for (const QueueSlot* queue : state.held_queues) {
    queues.push_back(queue->info);
  }
  // Nothing else is submitted until the comparison is done, or it would compare, and put back, what
  // other threads change meanwhile.
  Standstill& standstill = *state_->context.standstill;
  const auto unchecked = [&](const char* why) {
    state.counters.unverified.add();
    state.unchecked.add(why);
  };
  if (!standstill.stop(state.held_queues)) {
    unchecked("another thread was inside the driver for too long");
    return 0;
  }
  VerifyResult result;
  std::size_t native = 0;
  const bool fits = entry->with_executable(state.views, [&](Executable& executable) {
    result = verify(context, executable, state.views, queues, standstill);
    native = executable.native_nodes();
  });
  standstill.resume();
  if (!fits) {
    static_cast<void>(entry->launch(context, {}, 0, false));  // counts the mismatch
    return 0;
  }
  *launched = true;
  switch (result.outcome) {
    case Verified::kEqual:
      state.counters.verified.add();
      count_replayed(state.views.size(), native);
      break;
    case Verified::kDifferent:
      state.counters.differences.add();
      env::log_error("verify: a graph of " + std::to_string(state.views.size()) +
                     " operations computes something else than eager execution: " + result.text +
                     "; it is not replayed any more, and the application got the eager result");
      entry->retire(GraphEntry::Decline::kDiffers, result.text);
      break;
    case Verified::kUnstable:
      unchecked("two eager runs differ from each other");
      entry->retire(GraphEntry::Decline::kDiffers, "two eager runs differ from each other: " + result.text);
      break;
    case Verified::kImpossible: unchecked(result.why); break;
  }
  return result.error;
}

const capture::QueueInfo& Lane::queue_info(const OperationView& operation) const noexcept {
  for (const QueueSlot* queue : state_->held_queues) {
    if (queue->info.id == operation.header().queue) {
      return queue->info;
    }
  }
  return state_->queue->info;
}

[[gnu::hot]] void Lane::popped(std::uint32_t count) {
  State& state = *state_;
  state.held_head += count;
  const std::size_t left = state.held_offsets.size() - state.held_head;
  if (left == 0) {
    state.held_bytes.clear();
    state.held_offsets.clear();
    state.held_head = 0;
    state.window.clear(state_->context.backend);
    return;
  }
  if (state.held_head >= kCompactAfter) {
    const std::size_t cut = state.held_offsets[state.held_head];
    state.held_bytes.erase(state.held_bytes.begin(), state.held_bytes.begin() + static_cast<std::ptrdiff_t>(cut));
    state.held_offsets.erase(state.held_offsets.begin(),
                             state.held_offsets.begin() + static_cast<std::ptrdiff_t>(state.held_head));
    for (std::size_t& offset : state.held_offsets) {
      offset -= cut;
    }
    state.held_head = 0;
  }
}

/// Ends every change of what is held. When nothing is left, the store to held_count_ is the last thing
/// done here: from then on the owner works without the lock.
[[gnu::hot]] void Lane::publish() {
  State& state = *state_;
  const std::size_t left = state.held_offsets.size() - state.held_head;
  const bool held_before = held_count_.load(std::memory_order_relaxed) != 0;
  if (left != 0) {
    const OperationView oldest(state.held_bytes.data() + state.held_offsets[state.held_head]);
    const auto count = static_cast<std::uint32_t>(left);
    if (!held_before) {
      begin_holding(oldest.header().sequence, oldest.header().time_ns, count);
      return;
    }
    first_held_.store(oldest.header().sequence, std::memory_order_relaxed);
    state.held_since_ns.store(oldest.header().time_ns, std::memory_order_relaxed);
    held_count_.store(count, std::memory_order_relaxed);
    return;
  }
  for (const auto& [release, handle] : state.deferred) {
    const Inside guard;
    release(handle);
  }
  state.deferred.clear();
  release_queues();
  if (held_before) {
    engine_.held_lanes.fetch_sub(1, std::memory_order_relaxed);
  }
  held_count_.store(0, std::memory_order_release);
}

/// The first ones of what is held from now on.
[[gnu::hot]] void Lane::begin_holding(std::uint64_t first, std::uint64_t since_ns, std::uint32_t count) noexcept {
  first_held_.store(first, std::memory_order_relaxed);
  state_->held_since_ns.store(since_ns, std::memory_order_relaxed);
  engine_.held_lanes.fetch_add(1, std::memory_order_seq_cst);
  // Who sees the first one sees all of it through the lock: only this store must not be late.
  held_count_.store(count, std::memory_order_seq_cst);
  state_->context.watchdog.arm();
}

/// A queue that this lane became the holder of.
[[gnu::hot]] void Lane::add_held(QueueSlot* queue) {
  state_->held_queues.push_back(queue);
  if (queue->info.default_order == capture::DefaultOrder::kIsDefault) {
    engine_.held_defaults.fetch_add(1, std::memory_order_seq_cst);
  }
}

[[gnu::hot]] void Lane::release_queues() noexcept {
  for (QueueSlot* queue : state_->held_queues) {
    if (queue->info.default_order == capture::DefaultOrder::kIsDefault) {
      engine_.held_defaults.fetch_sub(1, std::memory_order_relaxed);
    }
    queue->holder.store(nullptr, std::memory_order_release);
  }
  state_->held_queues.clear();
}

[[gnu::hot]] void Lane::note_error(int error) noexcept {
  if (state_->flush_error == 0) {
    state_->flush_error = error;
  }
}

std::uint64_t Lane::held_since_ns() const noexcept {
  return held_count_.load(std::memory_order_seq_cst) == 0 ? 0 : state_->held_since_ns.load(std::memory_order_relaxed);
}

void Lane::defer(void (*release)(capture::Handle), capture::Handle handle) noexcept {
  State& state = *state_;
  if (held_count_.load(std::memory_order_relaxed) != 0 && !inside_lane) {
    const std::lock_guard guard(mutex_);
    if (held_count_.load(std::memory_order_relaxed) != 0) {
      try {
        state.deferred.emplace_back(release, handle);
        return;
      } catch (const std::exception& failure) {
        engine_.fail(failure.what());
      }
    }
  }
  release(handle);
}

void Lane::flush(bool expired, std::uint64_t sequence) noexcept {
  State& state = *state_;
  if (inside_lane || engine_.forked.load(std::memory_order_relaxed)) {
    return;
  }
  const std::lock_guard guard(mutex_);
  // Asked under the lock: what is just being submitted counts as held until the driver has it.
  if (!is_held(sequence)) {
    return;
  }
  if (!engine_.active.load(std::memory_order_relaxed)) [[unlikely]] {
    issue_rest();
    return;
  }
  try {
    catch_up();
    if (expired) {
      state.counters.expired.add();
      state.tuner.hold_expired(held_count_.load(std::memory_order_relaxed));
    }
    state.spans.disturbed();
    for (const Action& action : state.matcher.expire()) {
      note_error(apply(action));
    }
    publish();
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
    issue_rest();
  }
}

}  // namespace refrain::replay
