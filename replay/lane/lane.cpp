#include "replay/lane/lane.h"

#include <algorithm>
#include <cstddef>
#include <exception>

#include "env/log.h"
#include "replay/lane/handoff.h"
#include "replay/lane/inside.h"
#include "replay/runtime/clock.h"

namespace refrain::replay {

constinit thread_local Lane* Lane::current __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool inside_lane __attribute__((tls_model("initial-exec"))) = false;

namespace {

MatcherOptions options_of(const LaneContext& context, std::uint64_t number) {
  constexpr std::uint32_t kLeast = 1024;  // limit
  MatcherOptions options = matcher_options(context.settings, context.backend.chunk_sizes());
  options.history = number == Lane::kPassing ? kLeast : options.history;
  return options;
}

capture::Stream* stream_of(const LaneContext& context, std::uint64_t number) {
  return context.recorder != nullptr && number != Lane::kPassing ? &context.recorder->open_stream(number) : nullptr;
}

/// For the lane's own thread, before it looks at what is held, or asks the matcher for anything: if anything is held
/// the lock of all that is taken.
class REFRAIN_SCOPED_CAPABILITY LockWhileHolding {
 public:
  LockWhileHolding(const HeldOperations& held, bool holding) noexcept REFRAIN_ACQUIRE(held_right)
      : lock_(holding ? &held.lock() : nullptr) {
    if (lock_ != nullptr) {
      lock_->lock();
    }
  }
  ~LockWhileHolding() REFRAIN_RELEASE() {
    if (lock_ != nullptr) {
      lock_->unlock();
    }
  }
  LockWhileHolding(const LockWhileHolding&) = delete;
  LockWhileHolding& operator=(const LockWhileHolding&) = delete;

 private:
  LaneLock* lock_;
};

}  // namespace

Lane::Lane(LaneContext& context, std::uint64_t number)
    : prediction_(parts(context),
                  context.settings.mode == env::Mode::kReplay || context.settings.mode == env::Mode::kVerify),
      held_(front(), context),
      submitter_(context, held_, graphs_, gate_, intervals_, tuner_, counters_),
      matcher_(options_of(context, number)),
      tuner_(context.settings, context.backend.chunk_sizes(), number, matcher_, intervals_),
      graphs_(context, matcher_),
      gate_(context, intervals_, env::replays(context.settings) && number != kPassing),
      dormancy_(context.settings),
      deferred_(front()),
      context_(context),
      number_(number),
      replaying_(env::replays(context.settings) && number != kPassing),
      stream_(stream_of(context, number)),
      region_(context.regions, stream_),
      current_submission_({parts(context), prediction_, gate_, stream_, replaying_}),
      trailing_(context),
      timeline_(replaying_ && context.settings.timeline != 0
                    ? std::make_unique<IntervalTimeline>(static_cast<std::uint64_t>(context.settings.timeline))
                    : nullptr),
      profile_due_(context.profile.wanted() ? kFirstProfile : ~std::uint64_t{0}) {
  context.backend.submission_pause().add(beside_);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static_assert(offsetof(Lane, prediction_) == 0);  // for assembly, with Prediction's and LaneFront's
#pragma GCC diagnostic pop
  matcher_.set_initial_mode(env::replays(context.settings) ? ChunkMode::kRecord : ChunkMode::kBypass);
  if (number != kPassing && context.recorder == nullptr && context.settings.mode == env::Mode::kObserve) {
    deferred_.start();
  }
  note_chunks(ChunkChange::Why::kStart);
}

Lane::~Lane() {
  context_.backend.submission_pause().remove(beside_);
}

Prediction::Parts Lane::parts(LaneContext& context) noexcept {
  return {context, this, held_, matcher_, graphs_, submitter_, intervals_, tuner_, dormancy_, counters_};
}

[[gnu::hot, gnu::flatten]] Verdict Lane::look_at(const Submission& submission) noexcept {
  if ((replaying_ || stream_ != nullptr) && submission.queue->newest.load(std::memory_order_relaxed) != this)
      [[unlikely]] {
    on_queue_handoff(*submission.queue);
  }
  const bool passes = inside_lane || !active();
  const bool stopped = front().engine->stopped.load(std::memory_order_relaxed) && !passes;
  if (stopped) [[unlikely]] {
    stop();
  }
  if (dormancy_.is_dormant() && !passes) {
    tick_dormant();
    return Verdict::kIssue;
  }
  ++front().sequence;
  if (passes) {
    current_submission_.pass();
    flush(false);  // what is held after a failure comes first
    return Verdict::kIssue;
  }
  if (stopped) [[unlikely]] {
    counters_.submissions.add();
    counters_.stopped.add();
    current_submission_.pass_to_driver();
    return Verdict::kIssue;
  }
  const Verdict verdict = current_submission_.look_at(submission);
  if (verdict != Verdict::kHold) {
    trailing_.make_all();  // what is issued comes behind them: who waits for it knows that they are done
  }
  return verdict;
}

[[gnu::hot]] void Lane::look_at_deferred(bool may_ask) noexcept {
  const std::uint32_t count = deferred_.count();
  if (count == 0 || !active()) {
    deferred_.forget();
    return;
  }
  const std::uint64_t gone = front().engine->gone.load(std::memory_order_relaxed);
  counters_.submissions.add(count);
  if (front().engine->stopped.load(std::memory_order_relaxed)) [[unlikely]] {
    counters_.stopped.add(count);
    deferred_.forget();
    deferred_.begin_anew(gone);
    return;
  }
  dormancy_.stretch_begins(front().sequence, counters_.hopeless());
  try {
    deferred_.take(may_ask, [&](const Noted& noted) { current_submission_.look_back_at(noted); });
  } catch (const std::exception& error) {
    front().engine->fail(error.what());
  }
  deferred_.begin_anew(gone);
}

[[gnu::hot]] int Lane::issued_now(int status, std::uint32_t host_ns) noexcept {
  look_at_deferred(true);
  return current_submission_.issued(status, host_ns);
}

/// False if nothing was submitted since the last one ended.
[[gnu::hot]] bool Lane::end_stretch() noexcept {
  if (!dormancy_.stretch_ends(front().sequence, counters_.hopeless())) {
    return false;
  }
  tuner_.stop_app_clock();
  intervals_.pause_app_clock();
  counters_.cuts.add();
  graphs_.stretch_broken();
  return true;
}

/// Everything held leaves, and what comes next does not continue it.
[[gnu::hot]] void Lane::cut(const char* why, capture::Token identity, bool waits) {
  const bool was_holding = held_.any();
  const LockWhileHolding lock(held_, was_holding);
  prediction_.drain();
  if (front().sequence != blocked_ && !is_dormant()) {  // that has ended its stretch by itself
    counters_.cut_by.add(why);
  }
  for (const Action& action : matcher_.cut(identity, waits)) {
    submitter_.apply(action);
  }
  if (was_holding) {
    held_.publish();
  }
}

[[gnu::hot]] int Lane::host_call(const EntryPoint& entry_point) noexcept {
  look_at_deferred(true);
  if (inside_lane) {
    return 0;
  }
  if (!active()) [[unlikely]] {
    return leave();
  }
  if (!end_stretch()) {
    trailing_.make_all();
    return take_error();  // told later
  }
  int error = 0;
  try {
    cut(entry_point.name, capture::kHostCallToken, true);
    trailing_.make_all();
    if (intervals_.open()) {
      intervals_.waiting(now_ns());
    }
    error = take_error();
    if (stream_ != nullptr) {
      stream_->host_call(entry_point.name, now_ns());
    }
    if (counters_.cuts.get() >= profile_due_) [[unlikely]] {
      leave_profile();
    }
    consider_dormancy();
    constexpr std::size_t kMany = 256;  // limit
    if (matcher_.evicted() > kMany) [[unlikely]] {
      const IsLaneOwner owner;
      graphs_.forget_gone();
    }
  } catch (const std::exception& failure) {
    front().engine->fail(failure.what());
    error = leave();
  }
  prediction_.predict_first();
  return error;
}

/// A host call after a failure.
int Lane::leave() noexcept {
  if (front().engine->abandoned.load(std::memory_order_relaxed)) {
    return 0;  // it is the parent's work
  }
  flush(false);
  return take_error();
}

void Lane::blocking_cut(const char* name) noexcept {
  if (!inside_lane && active() && !is_dormant()) {
    blocked_ = front().sequence;
    dormancy_.part_ends(blocked_, counters_.hopeless());
    counters_.cut_by.add(name);
  }
}

[[gnu::hot]] void Lane::host_call_done(const EntryPoint& /*entry_point*/, bool waited) noexcept {
  if (stream_ != nullptr && !inside_lane) [[unlikely]] {
    stream_->host_call_done(now_ns());
  }
  if (inside_lane || !waited || dormancy_.is_dormant() || !active()) {
    return;
  }
  consider_dormancy();
  if (dormancy_.is_dormant()) {
    prediction_.clear();
  }
  if (!intervals_.open()) {
    return;
  }
  waited_ = true;
  const std::uint64_t now = now_ns();
  if (timeline_ != nullptr) [[unlikely]] {
    timeline_->add(intervals_.run_until(now), counters_.held());
  }
  if (intervals_.waited_as_before(now)) [[likely]] {
    return;
  }
  try {
    interval_ended();
  } catch (const std::exception& failure) {
    front().engine->fail(failure.what());
  }
}

/// The rest of the open interval will not be seen.
void Lane::abandon_interval() noexcept {
  intervals_.abandon();
  if (timeline_ != nullptr) {
    timeline_->skip(counters_.held());
  }
}

/// Whether the next interval is to run with graphs, and how it is to be divided.
void Lane::interval_ended() {
  const bool was_eager = intervals_.eager_turn();
  if (const std::int64_t lost = intervals_.waited(now_ns(), context_.budget.may_lose()); lost != 0) {
    context_.budget.lose(lost);
  }
  context_.budget.earn(intervals_.saved());
  const bool eager = intervals_.eager_turn();
  if (was_eager != eager || (eager && times_ready_ != GraphEntry::times_ready())) {
    times_ready_ = GraphEntry::times_ready();  // others may become ready while these are suspended
    prediction_.clear();
    const IsLaneOwner owner;
    graphs_.suspend(eager);
  }
  using Why = ChunkChange::Why;
  Why why = Why::kPace;
  if (intervals_.plan() != plan_) {
    prediction_.clear();
    use_plan(intervals_.plan());
    why = intervals_.proven() ? Why::kChosen : intervals_.on_trial() ? Why::kTrial : Why::kNew;
  }
  note_chunks(why);
}

void Lane::use_plan(std::uint32_t plan) noexcept {
  plan_ = plan;
  matcher_.use_lengths(plan);
}

/// `why`: they may be others than they were when this was last called.
void Lane::note_chunks(ChunkChange::Why why) noexcept {
  if (timeline_ != nullptr) {
    timeline_->chunks({now_ns(), plan_, matcher_.lengths(), why});
  }
}

/// The newest work in this queue is another thread's. Threads that take turns do so at the same places again and again
/// (PyTorch goes forward in one, and backward in another), and such a place divides what is held as a host call does:
/// work that was held across it would be flushed by the other thread each time.
void Lane::on_queue_handoff(QueueSlot& queue) noexcept {
  if (inside_lane || !active() || queue.newest.exchange(this, std::memory_order_relaxed) == nullptr) {
    return;
  }
  dormancy_.queue_handed_off();
  if (dormancy_.is_dormant()) {  // the other one is not, or nothing would be held anywhere
    end_dormancy();
    return;
  }
  // A thread that never waits for the device, but hands on: nobody waits for what it holds, and no interval of its own
  // will show which plan is the fastest.
  if (cut_between_calls(kHandedOff) && !waited_ && plan_ != kFewLaunches && tuner_.has_few_launches()) {
    use_plan(kFewLaunches);
    note_chunks(ChunkChange::Why::kHandedOn);
  }
}

/// Where no call of the program is that ends a stretch. False if nothing had to be cut, or that failed.
bool Lane::cut_between_calls(const char* why) noexcept {
  try {
    if (end_stretch()) {
      cut(why, kHandoff, false);
      if (stream_ != nullptr) {
        stream_->cut(why, now_ns());
      }
      return true;
    }
  } catch (const std::exception& failure) {
    front().engine->fail(failure.what());
  }
  return false;
}

void Lane::release_later(void (*release)(capture::Handle), capture::Handle handle) noexcept {
  try {
    if (!inside_lane && held_.release_later(release, handle)) {
      return;
    }
  } catch (const std::exception& failure) {
    front().engine->fail(failure.what());
  }
  release(handle);
}

void Lane::flush(bool expired, std::uint64_t sequence) noexcept {
  if (inside_lane || front().engine->abandoned.load(std::memory_order_relaxed)) {
    return;
  }
  const HasLaneLock guard(held_.lock());
  // Asked under the lock: what is just being submitted counts as held until the driver has it.
  const bool held = held_.contains(sequence);
  if (held) {
    flush_held(expired);
  }
  // With the lock nothing begins to be held that one of these would have to come behind.
  if ((held || sequence == kNewest) && held_.count() == 0) {
    trailing_.make_all();
  }
}

void Lane::flush_held(bool expired) noexcept {
  if (expired && active()) {
    counters_.expired.add();
  }
  intervals_.disturbed();
  prediction_.drain();
  if (held_.count() == 0) {
    return;  // all was issued while it was told to the matcher: from then on the lane's thread works without the lock
  }
  if (!active()) [[unlikely]] {
    submitter_.issue_rest();
    return;
  }
  try {
    for (const Action& action : matcher_.expire()) {
      submitter_.apply(action);
    }
    held_.publish();
  } catch (const std::exception& failure) {
    front().engine->fail(failure.what());
    submitter_.issue_rest();
  }
}

void Lane::park() noexcept {
  static const EntryPoint end{kThreadEnds};
  look_at_deferred(false);  // without asking: since these calls another thread may have destroyed their streams
  static_cast<void>(host_call(end));  // nobody is there any more to be told of an error
  flush(false);                       // what a lane holds that does not look at host calls (the engine was stopped)
  if (profile_due_ == kFirstProfile || counters_.cuts.get() * 2 >= profile_due_) {  // it may come back again and again
    leave_profile();
  }
  prediction_.clear();
  abandon_interval();
  enter_region(nullptr);
  static_cast<void>(take_error());
  tuner_.stop_app_clock();
  graphs_.pause();
}

Dormancy::Seen Lane::seen() const noexcept {
  return {.submissions = front().sequence,
          .replayed = counters_.replayed.get(),
          .hopeless = counters_.hopeless(),
          .replayed_by_all = context_.replayed.load(std::memory_order_relaxed)};
}

/// When the program waits, with nothing held: if nothing was replayed for long, even looking costs too much.
void Lane::consider_dormancy() noexcept {
  if (dormancy_.is_due(front().sequence) && !held_.any() &&
      dormancy_.consider(seen(), intervals_.comparing() ? intervals_.submissions() : 0) != 0) {
    abandon_interval();
    leave_profile();  // the process may end by a signal before anything is looked at again
  }
}

void Lane::tick_dormant() noexcept {
  ++front().sequence;
  counters_.submissions.add();
  current_submission_.pass();
  if (dormancy_.is_stopped()) {
    counters_.stopped.add();
    if (!front().engine->stopped.load(std::memory_order_relaxed)) {
      end_dormancy();
    }
  } else {
    counters_.dormant.add();
    if (dormancy_.tick()) {
      end_dormancy();
    }
  }
  const DriverGate::Passage passage(gate_);  // waits where nobody may submit; the call itself is not known to end
}

/// What is held leaves, and nothing is looked at until the engine goes on. In verify mode the lane is not dormant then:
/// what it submits waits while another lane compares, which the layers' short way does not.
void Lane::stop() noexcept {
  if (dormancy_.is_stopped()) {
    return;
  }
  static_cast<void>(cut_between_calls(kStopped));
  trailing_.make_all();
  abandon_interval();
  prediction_.clear();
  if (context_.verification_pause == nullptr) {
    dormancy_.stop();
  }
}

void Lane::end_dormancy() noexcept {
  dormancy_.resume(seen());
  try {
    static_cast<void>(matcher_.cut());  // what comes next does not follow what was seen last
  } catch (const std::exception& error) {
    front().engine->fail(error.what());
  }
}

}  // namespace refrain::replay
