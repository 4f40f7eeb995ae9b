#include "replay/lane.h"

#include <algorithm>
#include <exception>
#include <string>

#include "env/log.h"
#include "replay/clock.h"
#include "replay/lane_state.h"
#include "replay/verify.h"

namespace refrain::replay {

using capture::OperationView;

thread_local Lane* Lane::current __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

/// True while this thread is inside a lane. The driver may call the application back from there (a
/// destructor callback, say), and the application the driver: such calls pass through.
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

class Inside {
 public:
  Inside() noexcept : before_(inside) { inside = true; }
  ~Inside() { inside = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
};

MatcherOptions matcher_options(const env::Settings& settings) {
  MatcherOptions options;
  options.chunk_first = static_cast<std::uint32_t>(std::min(settings.chunk_first, settings.chunk_max));
  options.chunk_growth = static_cast<std::uint32_t>(settings.chunk_growth);
  options.chunk_cap = static_cast<std::uint32_t>(settings.chunk_max);
  options.history = static_cast<std::uint32_t>(settings.history);
  options.min_chunk = static_cast<std::uint32_t>(settings.min_graph);
  return options;
}

bool replays(const env::Settings& settings) noexcept {
  return settings.mode == env::Mode::kReplay || settings.mode == env::Mode::kVerify;
}

// Beyond this the front of the held bytes, already submitted, is cut off.
constexpr std::size_t kCompactAfter = 4096;
// A lane in which nothing pays looks at this many submissions, then sleeps, longer and longer.
constexpr std::uint64_t kAwake = 16384;
constexpr std::uint64_t kLongestSleep = 16 * kAwake;

}  // namespace

Lane::Lane(Engine& engine, std::uint64_t number)
    : engine_(engine), number_(number), state_(std::make_unique<State>(matcher_options(engine.settings()))) {
  const env::Settings& settings = engine.settings();
  state_->matcher.set_initial_mode(replays(settings) ? ChunkMode::kTrack : ChunkMode::kPass);
  state_->spans.configure(settings.gate && settings.mode == env::Mode::kReplay);
  state_->may_sleep = settings.gate && settings.mode == env::Mode::kReplay;
  state_->sleep_length = kAwake;
  if (engine.shared().recorder != nullptr) {
    state_->stream = &engine.shared().recorder->open_stream(number);
  }
}

Lane::~Lane() {
  for (const auto& entry : state_->entries) {
    if (entry != nullptr) {
      entry->unsubscribe(state_->matcher);
    }
  }
}

Verdict Lane::submit(const Submission& submission) noexcept {
  ++sequence_;
  State& state = *state_;
  state.bypass = inside || !engine_.active();
  state.verdict = Verdict::kIssue;
  if (state.bypass) {
    return Verdict::kIssue;
  }
  if (state.asleep != 0) {
    state.counters.submissions.add();
    state.counters.asleep.add();
    state.bypass = true;
    if (--state.asleep == 0) {
      wake_up();
    }
    return Verdict::kIssue;
  }
  // While something is held, other threads may flush it: everything below is theirs as well then.
  if (held_count_.load(std::memory_order_acquire) != 0) {
    state.mutex.lock();
    state.locked_by_owner = true;
  }
  state.counters.submissions.add();
  state.queue = submission.queue;
  state.first_of_stretch = !state.stretch_open;
  state.stretch_open = true;
  const bool replaying = replays(engine_.settings());
  const char* unholdable = submission.unholdable;
  if (replaying) {
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
  }
  const bool timed = (sequence_ & 15U) == 0;
  state.submit_started_ns = timed && replaying ? now_ns() : 0;
  try {
    state.verdict = decide(submission.token, unholdable == nullptr);
  } catch (const std::exception& error) {
    engine_.fail(error.what());
    state.bypass = true;
  }
  if (state.verdict != Verdict::kHold) {
    if (state.locked_by_owner) {
      state.locked_by_owner = false;
      state.mutex.unlock();
    }
    enter_standstill();
  }
  return state.verdict;
}

/// The caller is about to call the driver, and will then call issued().
void Lane::enter_standstill() noexcept {
  if (Standstill* standstill = engine_.shared().standstill.get(); standstill != nullptr && !state_->bypass) {
    standstill->enter({&state_->queue, 1});
    state_->entered = true;
  }
}

void Lane::wake_up() noexcept {
  State& state = *state_;
  state.awake_since = sequence_;
  state.replayed_before = state.counters.replayed.get();
  try {
    static_cast<void>(state.matcher.cut());   // what comes next does not follow what was seen last
  } catch (const std::exception& error) {
    engine_.fail(error.what());
  }
}

/// At a cut, with nothing held: if nothing was replayed for a long time, even looking costs too much.
void Lane::consider_sleep() noexcept {
  State& state = *state_;
  if (!state.may_sleep || sequence_ - state.awake_since < kAwake || held_count_.load(std::memory_order_relaxed) != 0) {
    return;
  }
  if ((state.counters.replayed.get() - state.replayed_before) * 10 >= sequence_ - state.awake_since) {
    state.sleep_length = kAwake;
    state.awake_since = sequence_;
    state.replayed_before = state.counters.replayed.get();
    return;
  }
  state.asleep = state.sleep_length;
  state.sleep_length = std::min(state.sleep_length * 2, kLongestSleep);
  state.spans.abandon();
}

Verdict Lane::decide(capture::Token token, bool holdable) {
  State& state = *state_;
  const auto actions = state.matcher.feed(token, holdable);
  const std::size_t older = state.held_offsets.size() - state.held_head;
  std::size_t seen = 0;
  bool newest_issued = false;
  state.has_pending = false;
  for (const Action& action : actions) {
    seen += action.count;
    if (seen <= older) {
      note_error(apply(action));
      continue;
    }
    // This action ends with the newest operation, which is not described yet.
    if (action.kind == Action::Kind::kIssue) {
      if (action.count > 1) {
        note_error(apply({Action::Kind::kIssue, action.count - 1, kNoChunk}));
      }
      newest_issued = true;
    } else {
      state.pending = action;
      state.has_pending = true;
    }
  }
  if (older != 0) {
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

void Lane::issue_all_held() {
  State& state = *state_;
  static_cast<void>(state.matcher.expire());
  const std::size_t left = state.held_offsets.size() - state.held_head;
  if (left != 0) {
    note_error(apply({Action::Kind::kIssue, static_cast<std::uint32_t>(left), kNoChunk}));
  }
  publish();
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
    }
    state.has_pending = false;
    state.locked_by_owner = false;
    state.mutex.unlock();
    enter_standstill();
  }
  state.verdict = Verdict::kIssue;
}

Verdict Lane::follow() {
  State& state = *state_;
  wants_time_ = state.first_of_stretch || (sequence_ & 7U) == 0;
  const Following& following = state.matcher.following();
  if (following.chunk == kNoChunk) {
    state.tracked_chunk = kNoChunk;
  } else if (following.mode == ChunkMode::kTrack && replays(engine_.settings())) {
    state.counters.tracked.add();
    state.spans.disturbed();
    wants_time_ = true;
    return Verdict::kDescribeAndIssue;
  } else {
    state.counters.followed.add();
    if (following.complete && following.mode == ChunkMode::kPass && replays(engine_.settings())) {
      if (const auto& entry = entry_of(following.chunk)) {
        entry->passed();
      }
    }
  }
  return state.stream != nullptr ? Verdict::kDescribeAndIssue : Verdict::kIssue;
}

bool Lane::begin_hold() {
  State& state = *state_;
  if (!state.locked_by_owner) {
    state.mutex.lock();
    state.locked_by_owner = true;
  }
  QueueSlot* queue = state.queue;
  Lane* nobody = nullptr;
  if (queue->holder.load(std::memory_order_relaxed) != this) {
    if (!queue->holder.compare_exchange_strong(nobody, this, std::memory_order_acq_rel)) {
      return false;
    }
    state.held_queues.push_back(queue);
  }
  return true;
}

capture::OperationWriter Lane::writer() noexcept {
  State& state = *state_;
  if (state.verdict == Verdict::kHold) {
    return capture::OperationWriter(state.held_bytes);
  }
  state.scratch.clear();
  return capture::OperationWriter(state.scratch);
}

int Lane::hold() noexcept {
  State& state = *state_;
  int error = 0;
  try {
    const std::size_t offset = state.held_offsets.empty()
                                   ? 0
                                   : state.held_offsets.back() +
                                         OperationView(state.held_bytes.data() + state.held_offsets.back()).header().size;
    stamp(state.held_bytes.data() + offset);
    state.held_offsets.push_back(offset);
    if (state.has_pending) {
      state.has_pending = false;
      note_error(apply(state.pending));
    }
    publish();
    if (state.submit_started_ns != 0 && held_count_.load(std::memory_order_relaxed) != 0) {
      const std::uint64_t cost = std::min<std::uint64_t>(now_ns() - state.submit_started_ns, 10'000);
      state.hold_cost_ns = (state.hold_cost_ns * 7 + cost) / 8;
    }
    error = std::exchange(state.flush_error, 0);
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
  }
  state.locked_by_owner = false;
  state.mutex.unlock();
  return error;
}

void Lane::stamp(std::byte* record) noexcept {
  auto& header = *reinterpret_cast<capture::OperationHeader*>(record);
  header.sequence = sequence_;
  if (state_->verdict == Verdict::kHold || wants_time_) {
    state_->last_time_ns = now_ns() - header.host_ns;   // if it was issued, that long ago
  }
  header.time_ns = state_->last_time_ns;
  header.queue = state_->queue->info.id;
  header.queue_handle = state_->queue->info.handle;
}

int Lane::issued(int status, std::uint32_t host_ns) noexcept {
  State& state = *state_;
  if (state.entered) {
    state.entered = false;
    engine_.shared().standstill->leave();
  }
  if (state.bypass) {
    return status;
  }
  try {
    if (status != 0) {
      // The driver refused it: not part of anything that repeats.
      state.tracked_chunk = kNoChunk;
      static_cast<void>(state.matcher.cut());
    } else if (state.verdict == Verdict::kDescribeAndIssue) {
      described(host_ns);
    }
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
  }
  const int held_error = std::exchange(state.flush_error, 0);
  return status != 0 ? status : held_error;
}

void Lane::described(std::uint32_t host_ns) {
  State& state = *state_;
  reinterpret_cast<capture::OperationHeader*>(state.scratch.data())->host_ns = host_ns;
  stamp(state.scratch.data());
  const OperationView operation(state.scratch.data());
  if (state.stream != nullptr) {
    state.stream->operation(operation);
  }
  const Following& following = state.matcher.following();
  if (following.chunk == kNoChunk || following.mode != ChunkMode::kTrack || !replays(engine_.settings())) {
    return;
  }
  if (following.position == 0) {
    state.tracked_chunk = following.chunk;
    state.tracking.clear();
    state.tracked_ns = 0;
  } else if (state.tracked_chunk != following.chunk || state.tracking.size() != following.position) {
    state.tracked_chunk = kNoChunk;   // not seen from its beginning
    return;
  }
  state.tracking.add(operation);
  const auto& queues = state.tracking.queues;
  if (std::none_of(queues.begin(), queues.end(), [&](const auto& known) { return known.id == state.queue->info.id; })) {
    state.tracking.queues.push_back(state.queue->info);
  }
  state.tracked_ns += host_ns;
  if (following.complete) {
    state.tracked_chunk = kNoChunk;
    occurrence_complete(following.chunk);
  }
}

void Lane::occurrence_complete(ChunkId chunk) {
  State& state = *state_;
  const auto entry = entry_of(chunk);
  if (entry == nullptr) {
    state.matcher.set_mode(chunk, ChunkMode::kPass);
    return;
  }
  GraphStore& store = engine_.shared().store;
  store.spend(state.tracking.size() * state.hold_cost_ns);   // what looking cost
  state.views.clear();
  for (std::size_t i = 0; i < state.tracking.size(); ++i) {
    state.views.push_back(state.tracking.operation(i));
  }
  if (entry->tracked(state.views, state.tracked_ns, store.budget_allows()) != GraphEntry::Wish::kBuild) {
    return;
  }
  for (std::size_t i = 0; i < state.views.size(); ++i) {
    if (!engine_.shared().hooks.retain_objects(state.views[i])) {
      for (std::size_t retained = 0; retained < i; ++retained) {
        engine_.shared().hooks.release_objects(state.views[retained]);
      }
      static_cast<void>(entry->built(nullptr, "its buffers or kernels are freed before it comes back"));
      return;
    }
  }
  store.request_build(entry, state.tracking);
}

const std::shared_ptr<GraphEntry>& Lane::entry_of(ChunkId chunk) {
  State& state = *state_;
  if (chunk >= state.entries.size()) {
    state.entries.resize(std::size_t{chunk} + 1);
  }
  auto& entry = state.entries[chunk];
  if (entry == nullptr) {
    auto tokens = state.matcher.tokens_of(chunk);
    if (!tokens.empty()) {
      entry = engine_.shared().store.entry_for(std::move(tokens), state.queue->capabilities.update_arguments);
      if (entry != nullptr) {
        entry->subscribe(state.matcher, chunk);
      }
    }
    for (const ChunkId evicted : state.matcher.take_evicted()) {
      if (evicted < state.entries.size() && state.entries[evicted] != nullptr && evicted != chunk) {
        state.entries[evicted]->unsubscribe(state.matcher, evicted);
        state.entries[evicted] = nullptr;
      }
    }
  }
  return entry;
}

int Lane::apply(const Action& action) {
  State& state = *state_;
  const Inside guard;
  SubmitContext context{engine_.shared().backend, engine_.shared().hooks, state.window};
  state.views.clear();
  for (std::uint32_t i = 0; i < action.count; ++i) {
    state.views.emplace_back(state.held_bytes.data() + state.held_offsets[state.held_head + i]);
  }
  int error = 0;
  bool launched = false;
  if (action.kind == Action::Kind::kLaunch) {
    error = launch(context, action, &launched);
  }
  if (!launched) {
    const Entered entered(engine_.shared().standstill.get(), state.held_queues);
    for (const OperationView& operation : state.views) {
      const int status = issue_held(context, operation, queue_info(operation));
      error = error != 0 ? error : status;
    }
    state.counters.held_issued.add(action.count);
  }
  popped(action.count);
  return error;
}

int Lane::launch(const SubmitContext& context, const Action& action, bool* launched) {
  State& state = *state_;
  const auto entry = entry_of(action.chunk);
  if (entry == nullptr) {
    return 0;
  }
  if (engine_.settings().mode == env::Mode::kVerify) {
    return launch_verified(context, entry, launched);
  }
  const auto result = entry->launch(context, state.views, state.hold_cost_ns * action.count);
  if (result.launch != GraphEntry::Launch::kDone) {
    return 0;
  }
  *launched = true;
  state.counters.replayed.add(action.count);
  state.counters.launches.add();
  state.spans.launched(entry);
  engine_.shared().store.spend(result.excess_ns);
  return result.error;
}

int Lane::launch_verified(const SubmitContext& context, const std::shared_ptr<GraphEntry>& entry, bool* launched) {
  State& state = *state_;
  std::vector<capture::QueueInfo> queues;
  for (const QueueSlot* queue : state.held_queues) {
    queues.push_back(queue->info);
  }
  // Nothing else is submitted until the comparison is done, or it would compare, and put back, what
  // other threads change meanwhile.
  Standstill& standstill = *engine_.shared().standstill;
  if (!standstill.stop(state.held_queues)) {
    state.counters.unverified.add();
    return 0;
  }
  VerifyResult result;
  const bool fits = entry->with_executable(state.views, [&](Executable& executable) {
    result = verify(context, executable, state.views, queues, standstill);
  });
  standstill.resume();
  if (!fits) {
    static_cast<void>(entry->launch(context, {}, 0));   // counts the mismatch
    return 0;
  }
  *launched = true;
  switch (result.outcome) {
    case Verified::kEqual:
      state.counters.verified.add();
      state.counters.replayed.add(state.views.size());
      state.counters.launches.add();
      break;
    case Verified::kDifferent:
      state.counters.differences.add();
      env::log_error("verify: a graph of " + std::to_string(state.views.size()) +
                     " operations computes something else than eager execution: " + result.text +
                     "; it is not replayed any more, and the application got the eager result");
      entry->retire(GraphEntry::Decline::kDiffers, result.text);
      break;
    case Verified::kUnstable:
      state.counters.unverified.add();
      entry->retire(GraphEntry::Decline::kDiffers, "two eager runs differ from each other: " + result.text);
      break;
    case Verified::kImpossible:
      state.counters.unverified.add();
      break;
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

void Lane::popped(std::uint32_t count) {
  State& state = *state_;
  state.held_head += count;
  const std::size_t left = state.held_offsets.size() - state.held_head;
  if (left == 0) {
    state.held_bytes.clear();
    state.held_offsets.clear();
    state.held_head = 0;
    state.window.clear(engine_.shared().backend);
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
void Lane::publish() {
  State& state = *state_;
  const std::size_t left = state.held_offsets.size() - state.held_head;
  const bool held_before = held_count_.load(std::memory_order_relaxed) != 0;
  if (left != 0) {
    const OperationView oldest(state.held_bytes.data() + state.held_offsets[state.held_head]);
    first_held_.store(oldest.header().sequence, std::memory_order_relaxed);
    state.held_since_ns.store(oldest.header().time_ns, std::memory_order_relaxed);
    if (!held_before) {
      engine_.held_lanes_.fetch_add(1, std::memory_order_seq_cst);
    }
    held_count_.store(static_cast<std::uint32_t>(left), std::memory_order_seq_cst);
    if (!held_before) {
      engine_.shared().watchdog.arm();
    }
    return;
  }
  for (const auto& [release, handle] : state.deferred) {
    const Inside guard;
    release(handle);
  }
  state.deferred.clear();
  for (QueueSlot* queue : state.held_queues) {
    queue->holder.store(nullptr, std::memory_order_release);
  }
  state.held_queues.clear();
  if (held_before) {
    engine_.held_lanes_.fetch_sub(1, std::memory_order_relaxed);
  }
  held_count_.store(0, std::memory_order_release);
}

void Lane::note_error(int error) noexcept {
  if (state_->flush_error == 0) {
    state_->flush_error = error;
  }
}

int Lane::host_call(const EntryPoint& entry_point) noexcept {
  State& state = *state_;
  if (inside || !engine_.active() || !state.stretch_open) {
    return 0;
  }
  state.stretch_open = false;
  state.counters.cuts.add();
  state.tracked_chunk = kNoChunk;
  const bool was_holding = held_count_.load(std::memory_order_acquire) != 0;
  int error = 0;
  try {
    std::unique_lock lock(state.mutex, std::defer_lock);
    if (was_holding) {
      lock.lock();
    }
    state.cut_by.add(entry_point.name);
    for (const Action& action : state.matcher.cut()) {
      note_error(apply(action));
    }
    if (was_holding) {
      publish();
    }
    error = std::exchange(state.flush_error, 0);
    if (state.stream != nullptr) {
      state.stream->host_call(entry_point.name, now_ns());
    }
    consider_sleep();
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
  }
  return error;
}

void Lane::host_call_done(const EntryPoint& /*entry_point*/, bool waited) noexcept {
  State& state = *state_;
  if (inside || !waited || !state.spans.open() || !engine_.active()) {
    return;
  }
  try {
    const bool was_eager = state.spans.eager_turn();
    state.spans.waited(now_ns());
    if (was_eager != state.spans.eager_turn()) {
      let_graphs_rest(state.spans.eager_turn());
    }
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
  }
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

void Lane::defer(void (*release)(capture::Handle), capture::Handle handle) noexcept {
  State& state = *state_;
  if (held_count_.load(std::memory_order_relaxed) != 0 && !inside) {
    const std::lock_guard guard(state.mutex);
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

void Lane::flush(bool expired) noexcept {
  State& state = *state_;
  if (inside) {
    return;
  }
  try {
    const std::lock_guard guard(state.mutex);
    if (held_count_.load(std::memory_order_relaxed) == 0) {
      return;
    }
    if (expired) {
      state.counters.expired.add();
    }
    state.spans.disturbed();
    for (const Action& action : state.matcher.expire()) {
      note_error(apply(action));
    }
    publish();
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
  }
}

}  // namespace refrain::replay
