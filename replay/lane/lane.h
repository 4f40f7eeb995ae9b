// One host thread's stream of submissions and what is held of it.
//
// What an entry point of class `submit` does (S = state of the queue, kernel … kept by the layer):
//
//   Lane& lane = engine.lane();
//   engine.flush_holder(S.queue);                    // and every event in the wait list
//   switch (lane.submit({token, kind, &S.queue, unholdable})) {
//     case Verdict::kIssue:                          // most common: nothing to be remembered
//       status = driver(...);
//       return lane.issued(status);                  // status, or the error of held work it flushed
//     case Verdict::kDescribeAndIssue:               // the operation is wanted (capture, graph to build)
//       describe(lane.writer());                     // OperationWriter: begin … finish
//       status = driver(...);                        // timed with replay/runtime/clock.h, if lane.wants_time()
//       return lane.issued(status, nanoseconds);
//     case Verdict::kHold:                           // not given to the driver now
//       describe(lane.writer());                     // header.promise set if an event was asked for
//       return lane.hold();                          // may launch; returns the error of what it flushed
//   }
//
// What an entry point of class `host call` does:
//
//   int held_error = lane.host_call(entry_point);    // flushes
//   status = driver(...);
//   lane.host_call_done(entry_point, waited);
//   return held_error != 0 ? held_error : status;
//
// Thread-safety: submit … hold, issued, host_call… belong to the lane's own thread. flush() may be called
// by any thread. The lane's lock is taken only while something is or becomes held.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "capture/operation.h"
#include "replay/lane/chunk_graphs.h"
#include "replay/lane/current_submission.h"
#include "replay/lane/deferred_submissions.h"
#include "replay/lane/driver_gate.h"
#include "replay/lane/held_operations.h"
#include "replay/lane/inside.h"
#include "replay/lane/lane_context.h"
#include "replay/lane/lane_counters.h"
#include "replay/lane/lane_region.h"
#include "replay/lane/prediction.h"
#include "replay/lane/submitter.h"
#include "replay/lane/trailing_calls.h"
#include "replay/policy/chunk_tuner.h"
#include "replay/policy/dormancy.h"
#include "replay/policy/interval_timeline.h"
#include "replay/policy/interval_trial.h"
#include "replay/queue_slot.h"

namespace refrain::replay {

class alignas(64) Lane {
 public:
  /// The calling thread's lane, or null.
  static constinit thread_local Lane* current __attribute__((tls_model("initial-exec")));

  Lane(LaneContext& context, std::uint64_t number);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Number of the lane that threads without one share once the engine gave up: all that comes passes through it.
  static constexpr std::uint64_t kPassing = 0;  // format
  /// Number of this lane in the process, from 1.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// The sequence number that the next submit() gets: for event bookkeeping and wait distances.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return front().sequence + 1; }
  /// True if the submission with this number is held now.
  [[nodiscard]] bool is_held(std::uint64_t sequence) const noexcept { return held_.contains(sequence); }

  /// True while nothing is looked at, because nothing has paid for long. Nothing is held then; instead of
  /// describing the submission, tick_dormant() is called.
  [[nodiscard]] bool is_dormant() const noexcept { return dormancy_.is_dormant(); }
  void tick_dormant() noexcept;

  Verdict submit(const Submission& submission) noexcept {
    if (front().deferred == nullptr) {
      return look_at(submission);
    }
    ++front().sequence;
    if (deferred_.note({submission.token, submission.unholdable, submission.ends})) [[unlikely]] {
      look_at_deferred(true);
    }
    return Verdict::kIssue;
  }
  /// True if nothing is looked at with the next submission: defer() does instead of submit(), which would say kIssue.
  [[nodiscard]] bool can_defer() const noexcept { return deferred_.can_defer(); }
  /// The next submission, for `how` to say later what it is; see DeferredSubmission::defer().
  template <class Deferred, class... What>
  void defer(LookAtDeferred how, const What&... what) noexcept {
    ++front().sequence;
    deferred_.defer<Deferred>(how, what...);
  }
  /// For kDescribeAndIssue and kHold: where the record goes. begin() … finish() exactly one record;
  /// `sequence`, `time_ns`, `queue` and `queue_handle` are filled in by the lane.
  [[nodiscard]] capture::OperationWriter writer() noexcept { return current_submission_.writer(); }
  /// After kHold and the description. Returns the driver's error if launching or flushing failed.
  int hold() noexcept { return current_submission_.hold(); }
  // Where the next submission is known beforehand, and is the one that was predicted, a lane needs nothing but that: a
  // program that runs much code of its own finds hardly anything of the long way in the processor's caches.
  //
  //   if (lane.predicted()) {
  //     if (<the submission is that one, queue and arguments included> && lane.hold_predicted(&error)) return error;
  //     lane.mispredicted();                            // only if it is another one
  //   }
  //
  /// The record of the submission that is predicted next, in a queue for which this lane holds work already or has
  /// launched some last. Null if none is. What it names may have been destroyed, unless hold_predicted() says yes; only
  /// the record of the queue must still be there.
  [[nodiscard]] capture::OperationView predicted() const noexcept { return prediction_.next(); }
  /// The same, and fetches what is needed with it: see Prediction::fetch_next().
  [[nodiscard, gnu::always_inline]] capture::OperationView fetch_predicted() const noexcept {
    return prediction_.fetch_next();
  }
  /// Instead of submit() and hold(): the submission asks for the same work as predicted(), with the same handles, and
  /// neither promises an event nor waits for anything but its queue. False:
  /// it is to be submitted as any other. `change`: but with other values of the same sizes, which it writes into a copy
  /// of the record.
  bool hold_predicted(int* error) noexcept { return prediction_.accept(error, nullptr); }
  bool hold_predicted(int* error, const Change& change) noexcept { return prediction_.accept(error, &change); }
  /// What comes is not what was predicted.
  void mispredicted() noexcept { prediction_.mispredicted(); }

  /// Instead of hold(), or of describing, when the description failed (out of memory): what is held is
  /// flushed; the caller issues the operation itself and then calls issued().
  void abandon() noexcept { current_submission_.abandon(); }
  /// After kDescribeAndIssue: true if the driver call is to be timed. (Reading the clock costs as much as copying the
  /// arguments. A capture tells when each call began and ended; elsewhere one in eight is timed.)
  [[nodiscard]] bool wants_time() const noexcept { return current_submission_.wants_time(); }
  /// After kIssue or kDescribeAndIssue and the driver call. `host_ns` = 0: not measured. An operation
  /// that the driver refused is a cut and is never part of a graph.
  /// Returns what the application is to be told: `status`, or if that is 0 the error of older held work
  /// that this submission flushed.
  int issued(int status, std::uint32_t host_ns = 0) noexcept {
    return front().deferred != nullptr && status == 0 ? 0 : issued_now(status, host_ns);
  }
  /// How many stretches have ended.
  [[nodiscard]] std::uint64_t stretch() const noexcept { return counters_.cuts.get(); }
  /// Runs `use()` if nothing was destroyed since the oldest of what is kept, nor is meanwhile: the handles that it
  /// names may be given to the driver.
  template <class Use>
  void while_nothing_gone(Use&& use) const {
    deferred_.while_nothing_gone(use);
  }
  /// What was only kept so far is looked at: by the lane's own thread. `may_ask`: see LookAtDeferred.
  void look_at_deferred(bool may_ask) noexcept;

  /// Flushes what this lane holds. Returns the first error of the held work.
  int host_call(const EntryPoint& entry_point) noexcept REFRAIN_EXCLUDES(held_right);
  /// After issued(), where the newest submission itself returned only when its work was done: that ends its stretch as
  /// a host call does, and is counted as one of that name (of static lifetime).
  void blocking_cut(const char* name) noexcept;
  /// The host call returned; `waited`: it waited for the device (this ends a measured interval).
  void host_call_done(const EntryPoint& entry_point, bool waited) noexcept;

  /// Runs `release(handle)` when nothing is held any more (now, if nothing is). For objects that
  /// the application releases while held work names them.
  void release_later(void (*release)(capture::Handle), capture::Handle handle) noexcept REFRAIN_EXCLUDES(held_right);

  // Calls that nothing has to wait for need not end what is held: they are made behind it, when it is flushed, and not
  // with each chunk that is launched.
  //
  /// True while a call of this thread may wait: its newest submission was held, or will be once there is a graph, or
  /// something is held. If not, nothing is.
  [[nodiscard]] bool may_trail() const noexcept {
    return !inside_lane && active() && !is_dormant() && !front().engine->stopped.load(std::memory_order_relaxed) &&
           (held_.count() != 0 || predicted() || current_submission_.was_wanted());
  }
  /// It waits from now on. False: there are too many that do.
  [[nodiscard]] bool trail(const TrailingCall& call) noexcept { return trailing_.add(call); }
  /// The newest one like this that waits will not be made: true, and what it was called with.
  [[nodiscard]] bool take_back(const TrailingCall& like, std::uint64_t* what) noexcept {
    const bool found = trailing_.take_back(like, what);
    if (found) {
      counters_.taken_back.add();
    }
    return found;
  }
  /// Makes a call that submits something, but is no part of what repeats and has nothing to come behind.
  template <class Call>
  auto beside(Call&& call) noexcept {
    const Entered entered(context_.verification_pause.get());
    context_.backend.submission_pause().enter(beside_);
    const auto result = call();
    backends::SubmissionPause::leave(beside_);
    return result;
  }

  /// An error of held work that this call of the lane's thread cannot return: its next one does.
  void report_later(int error) noexcept {
    const IsLaneOwner owner;
    held_.note_error(error);
  }

  /// Flushes from any thread, if the submission `sequence` is still held. `expired` only changes what is counted.
  void flush(bool expired, std::uint64_t sequence = kNewest) noexcept REFRAIN_EXCLUDES(held_right);
  static constexpr std::uint64_t kNewest = ~std::uint64_t{0};  ///< format: held whenever anything is

  /// What another run of the program has learnt in this lane, as long as nothing was submitted. By the lane's thread,
  /// as the other one.
  void learn_from_profile() noexcept;
  /// Leaves what was learnt so far for another run.
  void leave_profile() noexcept;

  /// The thread is in another region of the program's; null: in none.
  void enter_region(const env::Region* region) noexcept { region_.enter(region, front().sequence, counters_); }

  /// The thread ends: everything held is submitted, and nothing of the thread is left that its successor could be told.
  /// (A lane outlives its thread: programs that start threads again and again, for each step of a loop, do in each what
  /// an earlier one did.)
  void park() noexcept;
  /// Another thread goes on with this lane.
  void unpark() noexcept { graphs_.resume(); }

  // Any thread:
  /// Since when anything is held (see now_ns()); 0: nothing is.
  [[nodiscard]] std::uint64_t held_since_ns() const noexcept {
    const std::uint64_t held = held_.since_ns();
    const std::uint64_t trailing = trailing_.since_ns();
    return held == 0 || trailing == 0 ? held + trailing : std::min(held, trailing);
  }
  /// For the watchdog alone: something is held, and nothing has come behind it since this was asked last.
  [[nodiscard]] bool rested() noexcept {
    const std::uint64_t end = held_.end();
    return std::exchange(seen_end_, end) == end && end != 0;
  }
  [[nodiscard]] bool is_of(const EngineState& engine) const noexcept { return front().engine == &engine; }
  [[nodiscard]] const LaneCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] const ChunkTuner& tuner() const noexcept { return tuner_; }
  [[nodiscard]] const IntervalTrial& intervals() const noexcept { return intervals_; }
  [[nodiscard]] const LaneRegion& region() const noexcept { return region_; }
  /// Null: nobody wants it.
  [[nodiscard]] const IntervalTimeline* timeline() const noexcept { return timeline_.get(); }
  /// What its own thread knows; for tests.
  [[nodiscard]] const Matcher& matcher() const noexcept { return matcher_; }
  [[nodiscard]] const ChunkGraphs& graphs() const noexcept { return graphs_; }

 private:
  /// A thread that lives until the process ends leaves what it has learnt in between: after so many stretches, and each
  /// time four times as many.
  static constexpr std::uint64_t kFirstProfile = 64;  // limit: of what copying it costs

  [[nodiscard]] LaneFront& front() noexcept { return prediction_.front(); }
  [[nodiscard]] const LaneFront& front() const noexcept { return prediction_.front(); }
  [[nodiscard]] bool active() const noexcept { return front().engine->active.load(std::memory_order_relaxed); }
  [[nodiscard]] Prediction::Parts parts(LaneContext& context) noexcept;

  Verdict look_at(const Submission& submission) noexcept;
  int issued_now(int status, std::uint32_t host_ns) noexcept;
  [[nodiscard]] bool end_stretch() noexcept;
  bool cut_between_calls(const char* why) noexcept;
  void cut(const char* why, capture::Token identity, bool waits);
  int leave() noexcept;
  void interval_ended();
  void abandon_interval() noexcept;
  void use_plan(std::uint32_t plan) noexcept;
  void note_chunks(ChunkChange::Why why) noexcept;
  void on_queue_handoff(QueueSlot& queue) noexcept;
  [[nodiscard]] int take_error() noexcept {
    const IsLaneOwner owner;
    const int error = held_.take_error();
    return error != 0 ? error : trailing_.take_error();
  }
  void flush_held(bool expired) noexcept REFRAIN_REQUIRES(held_right);
  [[nodiscard]] Dormancy::Seen seen() const noexcept;
  void consider_dormancy() noexcept;
  void end_dormancy() noexcept;
  void stop() noexcept;

  // The first cache line is what a submission needs that is held because it was predicted (LaneFront). What the launch
  // of a chunk needs lies behind it.
  Prediction prediction_;
  HeldOperations held_;
  Submitter submitter_;
  LaneCounters counters_;
  IntervalTrial intervals_;
  Matcher matcher_;
  ChunkTuner tuner_;
  ChunkGraphs graphs_;
  DriverGate gate_;
  Dormancy dormancy_;
  DeferredSubmissions deferred_;

  LaneContext& context_;
  const std::uint64_t number_;
  const bool replaying_;           ///< work may be held
  capture::Stream* const stream_;  ///< of the capture; null: there is none
  LaneRegion region_;
  CurrentSubmission current_submission_;
  TrailingCalls trailing_;
  backends::SubmissionPause::Place beside_;
  const std::unique_ptr<IntervalTimeline> timeline_;  ///< null: nobody wants it
  std::uint64_t seen_end_ = 0;                        ///< the watchdog's, see rested()
  bool waited_ = false;                               ///< at the end of an interval, ever
  std::uint32_t plan_ = 0;                            ///< in which intervals are divided now
  std::uint64_t blocked_ = 0;                         ///< the last submission that blocking_cut() told of
  std::uint64_t profile_due_;                         ///< so many stretches until leave_profile() next
  std::uint64_t times_ready_ = 0;                     ///< GraphEntry::times_ready() when graphs were last suspended
};

}  // namespace refrain::replay
