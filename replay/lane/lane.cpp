#include "replay/lane/lane.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>

#include "env/log.h"
#include "replay/lane/lane_state.h"
#include "replay/runtime/clock.h"

namespace refrain::replay {

using capture::OperationView;

constinit thread_local Lane* Lane::current __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool inside_lane __attribute__((tls_model("initial-exec"))) = false;

namespace {

MatcherOptions options_of(const LaneContext& context, std::uint64_t number) {
  constexpr std::uint32_t kLeast = 1024;
  MatcherOptions options = matcher_options(context.settings, context.backend.chunk_sizes());
  options.history = number == Lane::kPassing ? kLeast : options.history;
  return options;
}

}  // namespace

Lane::Lane(LaneContext& context, std::uint64_t number)
    : engine_(context.state),
      number_(number),
      state_(std::make_unique<State>(context, number, options_of(context, number))) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  // What layer/cuda/kernels.cpp relies on, in assembly.
  static_assert(offsetof(Lane, expected_) == 0 && offsetof(Lane, unseen_) == 64);
#pragma GCC diagnostic pop
  const env::Settings& settings = context.settings;
  state_->matcher.set_initial_mode(env::replays(settings) ? ChunkMode::kTrack : ChunkMode::kPass);
  state_->replaying = env::replays(settings) && number != kPassing;
  state_->standstill = context.standstill.get();
  state_->expectation.possible = settings.mode == env::Mode::kReplay;
  context.backend.submission_pause().add(state_->place);
  if (number == kPassing) {
    return;
  }
  if (context.recorder != nullptr) {
    state_->stream = &context.recorder->open_stream(number);
  } else if (settings.mode == env::Mode::kObserve) {
    unseen_ = std::make_unique<Unseen[]>(kUnseen);
    unseen_gone_ = engine_.gone.load(std::memory_order_relaxed);
  }
}

Lane::~Lane() {
  state_->context.backend.submission_pause().remove(state_->place);
  for (const auto& entry : state_->entries) {
    if (entry != nullptr) {
      entry->unsubscribe(state_->matcher);
    }
  }
}

std::unique_lock<std::mutex> Lane::nothing_gone() const noexcept {
  std::unique_lock lock(engine_.asking);
  if (engine_.gone.load(std::memory_order_seq_cst) != unseen_gone_) {
    lock.unlock();
  }
  return lock;
}

[[gnu::hot]] void Lane::look_at_unseen(bool may_ask) noexcept {
  State& state = *state_;
  const std::uint32_t count = std::exchange(unseen_count_, 0);
  if (count == 0 || !engine_.active.load(std::memory_order_relaxed)) {
    return;
  }
  const std::uint64_t gone = engine_.gone.load(std::memory_order_relaxed);  // what is kept next names nothing of it
  state.counters.submissions.add(count);
  state.stretch_open = true;
  try {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto [token, unholdable] = unseen_[i].look(may_ask);
      if (unholdable != nullptr) {
        state.unholdable.add(unholdable);
        state.counters.unholdable.add();
      }
      static_cast<void>(decide(token, unholdable == nullptr));
    }
  } catch (const std::exception& error) {
    engine_.fail(error.what());
  }
  unseen_gone_ = gone;
}

[[gnu::hot, gnu::flatten]] Verdict Lane::look_at(const Submission& submission) noexcept {
  if (state_->replaying && submission.queue->newest.load(std::memory_order_relaxed) != this) [[unlikely]] {
    take_over(*submission.queue);
  }
  if (asleep_ != 0 && !inside_lane && engine_.active.load(std::memory_order_relaxed)) {
    doze();
    return Verdict::kIssue;
  }
  ++sequence_;
  State& state = *state_;
  state.bypass = inside_lane || !engine_.active.load(std::memory_order_relaxed);
  state.verdict = Verdict::kIssue;
  if (state.bypass) {
    flush(false);  // what is held after a failure comes first
    return Verdict::kIssue;
  }
  // While something is held, other threads may flush it: everything below is theirs as well then.
  if (held_count_.load(std::memory_order_acquire) != 0) {
    mutex_.lock();
    state.locked_by_owner = true;
  }
  catch_up();
  state.counters.submissions.add();
  state.queue = submission.queue;
  state.first_of_stretch = !state.stretch_open;
  state.stretch_open = true;
  if (state.first_of_stretch) {
    state.dormancy.stretch_begins(sequence_, state.hopeless());
  }
  const bool replaying = state.replaying;
  const char* unholdable = submission.unholdable;
  if (replaying) {
    state.came_back();
    if (!state.spans.open()) {
      state.spans.submitted(submission.token, now_ns());
    } else {
      state.spans.submitted(submission.token, 0);
    }
    const Lane* holder = submission.queue->holder.load(std::memory_order_acquire);
    if (unholdable == nullptr && holder != nullptr && holder != this) {
      unholdable = "another thread has work waiting for the same queue";
    }
  }
  if (unholdable != nullptr) {
    state.unholdable.add(unholdable);
    state.counters.unholdable.add();
  }
  if (state.tuner.wants_app_time()) {
    state.tuner.app_time(sequence_, state.held_queues.size());
  }
  state.submit_started_ns = begin_sample();
  try {
    state.verdict = decide(submission.token, unholdable == nullptr);
  } catch (const std::exception& error) {
    engine_.fail(error.what());
    state.bypass = true;
    if (state.locked_by_owner) {
      issue_rest();
    }
  }
  if (state.verdict != Verdict::kHold) {
    if (state.locked_by_owner) {
      state.locked_by_owner = false;
      mutex_.unlock();
    }
    begin_submitting();
    enter_standstill();
  }
  return state.verdict;
}

[[gnu::hot]] Verdict Lane::decide(capture::Token token, bool holdable) {
  State& state = *state_;
  const auto actions = state.matcher.feed(token, holdable);
  const std::size_t older = state.held_offsets.size() - state.held_head;
  std::size_t seen = 0;
  bool newest_issued = false;
  bool changed = false;
  state.has_pending = false;
  for (const Action& action : actions) {
    seen += action.count;
    if (seen <= older) {
      changed = true;
      note_error(apply(action));
      continue;
    }
    // This action ends with the newest operation, which is not described yet.
    if (action.kind == Action::Kind::kIssue) {
      if (action.count > 1) {
        changed = true;
        note_error(apply({Action::Kind::kIssue, action.count - 1, kNoChunk}));
      }
      newest_issued = true;
    } else {
      state.pending = action;
      state.has_pending = true;
    }
  }
  if (changed) {
    publish();
  }
  if (!newest_issued) {
    if (begin_hold()) {
      return Verdict::kHold;
    }
    // Another lane got hold of the queue just now: nothing of this lane may wait behind it.
    issue_all_held();
    state.has_pending = false;
    return state.stream != nullptr ? Verdict::kDescribeAndIssue : Verdict::kIssue;
  }
  return follow();
}

[[gnu::hot]] Verdict Lane::follow() {
  State& state = *state_;
  wants_time_ = state.first_of_stretch || (sequence_ & 7U) == 0;
  const Following& following = state.matcher.following();
  if (following.chunk == kNoChunk) {
    state.occurrences.abort();
  } else if (following.mode == ChunkMode::kTrack && state.replaying) {
    state.counters.tracked.add();
    state.spans.looked_at();
    wants_time_ = true;
    return Verdict::kDescribeAndIssue;
  } else {
    state.counters.followed.add();
    if (following.complete && following.mode == ChunkMode::kPass && state.replaying) {
      if (const auto& entry = entry_of(following.chunk)) {
        entry->passed();
      }
    }
  }
  return state.stream != nullptr ? Verdict::kDescribeAndIssue : Verdict::kIssue;
}

[[gnu::hot]] bool Lane::begin_hold() {
  State& state = *state_;
  if (!state.locked_by_owner) {
    mutex_.lock();
    state.locked_by_owner = true;
  }
  QueueSlot* queue = state.queue;
  Lane* nobody = nullptr;
  if (queue->holder.load(std::memory_order_relaxed) != this) {
    if (!queue->holder.compare_exchange_strong(nobody, this, std::memory_order_acq_rel)) {
      return false;
    }
    add_held(queue);
  }
  make_room_for_one();
  return true;
}

/// So that nothing can go wrong once the operation was described.
[[gnu::hot]] void Lane::make_room_for_one() {
  std::vector<std::size_t>& offsets = state_->held_offsets;
  if (offsets.size() == offsets.capacity()) [[unlikely]] {
    constexpr std::size_t kFirst = 64;
    offsets.reserve(std::max(2 * offsets.size(), kFirst));
  }
}

[[gnu::hot]] capture::OperationWriter Lane::writer() noexcept {
  State& state = *state_;
  if (state.verdict == Verdict::kHold) {
    state.newest_offset = state.held_bytes.size();
    return capture::OperationWriter(state.held_bytes);
  }
  state.scratch.clear();
  return capture::OperationWriter(state.scratch);
}

[[gnu::hot, gnu::flatten]] int Lane::hold() noexcept {
  State& state = *state_;
  try {
    stamp(state.held_bytes.data() + state.newest_offset);
    state.held_offsets.push_back(state.newest_offset);
    const std::uint32_t held_before = held_count_.load(std::memory_order_relaxed);
    if (state.has_pending) {
      state.has_pending = false;
      note_error(apply(state.pending));
      publish();
    } else if (held_before == 0) {
      publish();
    } else {
      held_count_.store(held_before + 1, std::memory_order_relaxed);  // the oldest one is the same
    }
    if (state.submit_started_ns != 0) {
      state.tuner.end_held(state.submit_started_ns, held_count_.load(std::memory_order_relaxed) != 0);
    }
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
    issue_rest();
  }
  const int error = std::exchange(state.flush_error, 0);
  if (state.expectation.possible) {
    expect();
  }
  state.locked_by_owner = false;
  mutex_.unlock();
  state.leaves();
  return error;
}

[[gnu::hot]] void Lane::stamp(std::byte* record) noexcept {
  auto& header = *reinterpret_cast<capture::OperationHeader*>(record);
  header.sequence = sequence_;
  // Of held operations only the oldest one's time counts (for the hold limit), and a little too old does no harm.
  const bool time_wanted = state_->verdict == Verdict::kHold
                               ? held_count_.load(std::memory_order_relaxed) == 0 || (sequence_ & 15U) == 0
                               : wants_time_;
  if (time_wanted) {
    state_->last_time_ns = now_ns() - header.host_ns;  // if it was issued, that long ago
  }
  header.time_ns = state_->last_time_ns;
  header.queue = state_->queue->info.id;
  header.queue_handle = state_->queue->info.handle;
}

[[gnu::hot]] int Lane::issued_now(int status, std::uint32_t host_ns) noexcept {
  State& state = *state_;
  end_submitting();
  look_at_unseen(true);
  if (state.entered) {
    state.entered = false;
    state.standstill->leave();
  }
  if (state.bypass) {
    return status != 0 || inside_lane ? status : std::exchange(state.flush_error, 0);
  }
  try {
    if (status != 0) {
      // The driver refused it: not part of anything that repeats.
      state.occurrences.abort();
      static_cast<void>(state.matcher.cut());
    } else if (state.verdict == Verdict::kDescribeAndIssue) {
      described(host_ns);
    }
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
  }
  const int held_error = std::exchange(state.flush_error, 0);
  if (state.submit_started_ns != 0) {
    state.tuner.end_issued();
  }
  state.leaves();
  return status != 0 ? status : held_error;
}

[[gnu::hot]] int Lane::host_call(const EntryPoint& entry_point) noexcept {
  State& state = *state_;
  look_at_unseen(true);
  if (inside_lane) {
    return 0;
  }
  if (!engine_.active.load(std::memory_order_relaxed)) [[unlikely]] {
    return leave();
  }
  if (!state.stretch_open) {
    return std::exchange(state.flush_error, 0);  // told later
  }
  state.stretch_open = false;
  state.dormancy.stretch_ends(sequence_, state.hopeless());
  state.tuner.stop_app_clock();
  state.came_back();
  state.counters.cuts.add();
  state.occurrences.abort();
  const bool was_holding = held_count_.load(std::memory_order_acquire) != 0;
  int error = 0;
  try {
    const HeldLock lock(*this, was_holding);
    state.cut_by.add(entry_point.name);
    for (const Action& action : state.matcher.cut()) {
      note_error(apply(action));
    }
    if (was_holding) {
      publish();
    }
    if (state.spans.open()) {
      state.spans.waiting(now_ns());
    }
    error = std::exchange(state.flush_error, 0);
    if (state.stream != nullptr) {
      state.stream->host_call(entry_point.name, now_ns());
    }
    consider_sleep();
    if (constexpr std::size_t kMany = 256; state.matcher.evicted() > kMany) [[unlikely]] {
      forget_entries();
    }
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
    error = leave();
  }
  expect_first();
  return error;
}

/// A host call after a failure.
int Lane::leave() noexcept {
  if (engine_.forked.load(std::memory_order_relaxed)) {
    return 0;  // it is the parent's work
  }
  flush(false);
  return std::exchange(state_->flush_error, 0);
}

void Lane::tell_later(int error) noexcept {
  note_error(error);
}

[[gnu::hot]] void Lane::host_call_done(const EntryPoint& /*entry_point*/, bool waited) noexcept {
  State& state = *state_;
  if (inside_lane || !waited || asleep_ != 0 || !engine_.active.load(std::memory_order_relaxed)) {
    return;
  }
  consider_sleep();
  if (asleep_ != 0) {
    expect_nothing();
  }
  if (!state.spans.open()) {
    return;
  }
  state.waited = true;
  if (state.spans.waited_as_before(now_ns())) [[likely]] {
    return;
  }
  try {
    const bool was_eager = state.spans.eager_turn();
    TrialBudget& budget = state_->context.budget;
    if (const std::int64_t lost = state.spans.waited(now_ns(), budget.may_lose()); lost != 0) {
      budget.lose(lost);
    }
    budget.earn(state.spans.saved());
    const bool eager = state.spans.eager_turn();
    if (was_eager != eager || (eager && state.times_ready != GraphEntry::times_ready())) {
      state.times_ready = GraphEntry::times_ready();  // others may become ready while these rest
      expect_nothing();
      let_graphs_rest(eager);
    }
    if (state.spans.way() != state.way) {
      state.way = state.spans.way();
      expect_nothing();
      state.matcher.use_lengths(state.way);
    }
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
  }
}

/// When the submission in progress began, if it is timed, else 0.
[[gnu::hot]] std::uint64_t Lane::begin_sample() noexcept {
  State& state = *state_;
  return sequence_ >= state.tuner.next_sample() && state.replaying ? state.tuner.begin_sample(sequence_) : 0;
}

void Lane::let_graphs_rest(bool rest) {
  State& state = *state_;
  for (ChunkId chunk = 0; chunk < state.entries.size(); ++chunk) {
    const auto& entry = state.entries[chunk];
    if (entry != nullptr && entry->state() == GraphEntry::State::kReady) {
      state.matcher.set_mode(chunk, rest ? ChunkMode::kPass : ChunkMode::kHold);
    }
  }
}

}  // namespace refrain::replay
