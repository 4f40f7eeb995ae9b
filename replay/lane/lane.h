// One host thread's stream of submissions and what is held of it.
//
// What an entry point of class `submit` does (S = state of the queue, kernel … kept by the layer):
//
//   Lane& lane = engine.lane();
//   engine.settle(S.queue);                          // and every event in the wait list
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

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "capture/operation.h"
#include "replay/lane/unseen.h"
#include "replay/policy/dormancy.h"
#include "replay/queue_slot.h"
#include "replay/runtime/owner_lock.h"

namespace refrain::replay {

class EngineState;
struct LaneContext;
class GraphEntry;
struct GraphLaunch;
struct Occurrence;
class Lane;
struct Action;
struct Holding;
struct SubmitContext;

enum class Verdict : std::uint8_t { kIssue, kDescribeAndIssue, kHold };

struct Submission {
  capture::Token token = 0;
  capture::OperationKind kind = capture::OperationKind::kUnknown;
  QueueSlot* queue = nullptr;
  /// Null if the operation may be held. Else why not, in the user's words, with static lifetime:
  /// "its event is profiled", "the call blocks", "the device cannot record image copies".
  const char* unholdable = nullptr;
};

/// Writes other values into the record of an operation. Refers to what it is made of, and must not throw.
class Change {
 public:
  template <class Write>
  explicit Change(const Write& write) noexcept
      : write_(&write),
        call_([](const void* what, std::byte* record) { (*static_cast<const Write*>(what))(record); }) {}
  void write(std::byte* record) const { call_(write_, record); }

 private:
  const void* write_;
  void (*call_)(const void*, std::byte*);
};

class alignas(64) Lane {
 public:
  /// The calling thread's lane, or null.
  static constinit thread_local Lane* current __attribute__((tls_model("initial-exec")));

  Lane(LaneContext& context, std::uint64_t number);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Number of the lane that threads without one share once the engine gave up: all that comes passes through it.
  static constexpr std::uint64_t kPassing = 0;
  /// Number of this lane in the process, from 1.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// The sequence number that the next submit() gets: for event bookkeeping and wait distances.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return sequence_ + 1; }
  /// True if the submission with this number is held now.
  [[nodiscard]] bool is_held(std::uint64_t sequence) const noexcept {
    return held_count_.load(std::memory_order_relaxed) != 0 && sequence >= first_held_.load(std::memory_order_relaxed);
  }

  /// True while nothing is looked at, because nothing has paid for long. Nothing is held then; instead of
  /// describing the submission, doze() is told of it (it returns the submission's sequence number).
  [[nodiscard]] bool asleep() const noexcept { return asleep_ != 0; }
  std::uint64_t doze() noexcept;

  Verdict submit(const Submission& submission) noexcept {
    if (unseen_ == nullptr) {
      return look_at(submission);
    }
    ++sequence_;
    unseen_[unseen_count_++].note({submission.token, submission.unholdable});
    if (unseen_count_ == kUnseen) [[unlikely]] {
      look_at_unseen(true);
    }
    return Verdict::kIssue;
  }
  /// True if nothing is looked at with the next submission: keep() does instead of submit(), which would say kIssue.
  [[nodiscard]] bool only_keeps() const noexcept { return unseen_ != nullptr && unseen_count_ + 1 < kUnseen; }
  /// The next submission, for `how` to say later what it is; see Unseen::keep().
  template <class Kept, class... What>
  void keep(LookAtKept how, const What&... what) noexcept {
    ++sequence_;
    unseen_[unseen_count_++].keep<Kept>(how, what...);
  }
  /// For kDescribeAndIssue and kHold: where the record goes. begin() … finish() exactly one record;
  /// `sequence`, `time_ns`, `queue` and `queue_handle` are filled in by the lane.
  [[nodiscard]] capture::OperationWriter writer() noexcept;
  /// After kHold and the description. Returns the driver's error if launching or flushing failed.
  int hold() noexcept;
  // Where the next submission is known beforehand, and is the one that was expected, a lane needs nothing but that: a
  // program that runs much code of its own finds hardly anything of the long way in the processor's caches.
  //
  //   if (lane.expected()) {
  //     if (<the submission is that one, queue and arguments included> && lane.hold_expected(&error)) return error;
  //     lane.surprised();                            // only if it is another one
  //   }
  //
  /// The record of the submission that is expected next, in a queue for which this lane holds work already or has
  /// launched some last. Null if none is. What it names may have been destroyed, unless hold_expected() says yes; only
  /// the record of the queue must still be there.
  [[nodiscard]] capture::OperationView expected() const noexcept {
    return capture::OperationView(expected_.load(std::memory_order_relaxed));
  }
  /// The same, and fetches what comparing with it and hold_expected() look at, all at once: where the program did much
  /// since the last submission, the caches have little of it, and one miss would wait for the other.
  [[nodiscard, gnu::always_inline]] capture::OperationView fetch_expected() const noexcept {
    constexpr std::size_t kLine = 64;
    const std::byte* const record = expected_.load(std::memory_order_relaxed);
    if (record != nullptr) [[likely]] {
      __builtin_prefetch(record + kLine);
      __builtin_prefetch(record + 2 * kLine);
      __builtin_prefetch(record + 3 * kLine);
      __builtin_prefetch(&engine_);
    }
    return capture::OperationView(record);
  }
  /// Instead of submit() and hold(): the submission asks for the same work as expected(), with the same handles, and
  /// neither promises an event nor waits for anything but its queue. False:
  /// it is to be submitted as any other. `change`: but with other values of the same sizes, which it writes into a copy
  /// of the record.
  bool hold_expected(int* error) noexcept { return hold_expected(error, nullptr); }
  bool hold_expected(int* error, const Change& change) noexcept { return hold_expected(error, &change); }
  /// What comes is not what was expected.
  void surprised() noexcept;

  /// Instead of hold(), or of describing, when the description failed (out of memory): what is held is
  /// flushed; the caller issues the operation itself and then calls issued().
  void abandon() noexcept;
  /// After kDescribeAndIssue: true if the driver call is to be timed. (Reading the clock costs as much as
  /// copying the arguments, so a capture only times every eighth call.)
  [[nodiscard]] bool wants_time() const noexcept { return wants_time_; }
  /// After kIssue or kDescribeAndIssue and the driver call. `host_ns` = 0: not measured. An operation
  /// that the driver refused is a cut and is never part of a graph.
  /// Returns what the application is to be told: `status`, or if that is 0 the error of older held work
  /// that this submission flushed.
  int issued(int status, std::uint32_t host_ns = 0) noexcept {
    return unseen_ != nullptr && status == 0 ? 0 : issued_now(status, host_ns);
  }
  /// Owned if nothing was destroyed since the oldest of what is kept, nor is while it is owned: the handles that it
  /// names may be given to the driver.
  [[nodiscard]] std::unique_lock<std::mutex> nothing_gone() const noexcept;
  /// What was only kept so far is looked at: by the lane's own thread. `may_ask`: see LookAtKept.
  void look_at_unseen(bool may_ask) noexcept;

  /// Flushes what this lane holds. Returns the first error of the held work.
  int host_call(const EntryPoint& entry_point) noexcept;
  /// The host call returned; `waited`: it waited for the device (this ends a measured span).
  void host_call_done(const EntryPoint& entry_point, bool waited) noexcept;

  /// Runs `release(handle)` when nothing is held any more (now, if nothing is). For objects that
  /// the application releases while held work names them.
  void defer(void (*release)(capture::Handle), capture::Handle handle) noexcept;

  /// An error of held work that this call of the lane's thread cannot return: its next one does.
  void tell_later(int error) noexcept;

  /// Flushes from any thread, if the submission `sequence` is still held. `expired` only changes what is counted.
  void flush(bool expired, std::uint64_t sequence = kNewest) noexcept;
  static constexpr std::uint64_t kNewest = ~std::uint64_t{0};  ///< held whenever anything is

  /// The thread ends: everything held is submitted, and nothing of the thread is left that its successor could be told.
  void thread_ends() noexcept;
  /// Another thread goes on with this lane.
  void thread_begins() noexcept;
  /// Since when anything is held (see now_ns()); 0: nothing is. Any thread.
  [[nodiscard]] std::uint64_t held_since_ns() const noexcept;
  [[nodiscard]] bool is_of(const EngineState& engine) const noexcept { return &engine_ == &engine; }

  struct State;
  [[nodiscard]] State& state() noexcept { return *state_; }

 private:
  class HeldLock;
  Verdict look_at(const Submission& submission) noexcept;
  class Submitting;
  void begin_submitting() noexcept;
  void end_submitting() noexcept;
  void give_way() noexcept;
  void give_way_to_claim() noexcept;
  void take_over(QueueSlot& queue) noexcept;
  int issued_now(int status, std::uint32_t host_ns) noexcept;
  bool hold_expected(int* error, const Change* change) noexcept;
  void issue_all_held();
  void issue_rest() noexcept;
  int leave() noexcept;
  void make_room_for_one();
  void expect() noexcept;
  void expect_first() noexcept;
  void expect_nothing() noexcept;
  bool expect_next() noexcept;
  /// For what may be held without being looked at, of one chunk, and for its launch.
  struct Room {
    std::size_t bytes, operations, queues;
  };
  [[nodiscard]] bool has_room(const Room& room) const noexcept;
  bool make_room(const Room& room) noexcept;
  bool expect_rest(const Holding& holding, std::span<QueueSlot* const> queues) noexcept;
  bool begin_expected(const Change* change) noexcept;
  bool hold_queues() noexcept;
  [[nodiscard]] bool is_apart() const noexcept;
  std::uint64_t attend() noexcept;
  void attended(std::uint64_t started_ns) noexcept;
  [[nodiscard]] std::uint64_t next_attention() const noexcept;
  bool note_change(const Change& change, const std::byte* record, std::size_t size) noexcept;
  void catch_up() noexcept;
  bool view_expected(std::size_t older);
  bool launch_expected() noexcept;
  void look_at_launched();
  void look_at_noted(std::uint32_t count);
  Verdict decide(capture::Token token, bool holdable);
  Verdict follow();
  bool begin_hold();
  void enter_standstill() noexcept;
  void stamp(std::byte* record) noexcept;
  void described(std::uint32_t host_ns);
  void occurrence_complete(std::uint32_t chunk);
  void request_build(const std::shared_ptr<GraphEntry>& entry, const Occurrence& occurrence);
  void request_variant(const std::shared_ptr<GraphEntry>& entry);
  const std::shared_ptr<GraphEntry>& entry_of(std::uint32_t chunk);
  void forget_entry(std::uint32_t chunk) noexcept;
  void forget_entries();
  int apply(const Action& action);
  int launch(const SubmitContext& context, const Action& action, bool* launched);
  void count_replayed(std::size_t operations, std::size_t native);
  void count_launch(const std::shared_ptr<GraphEntry>& entry, const GraphLaunch& launch);
  int launch_verified(const SubmitContext& context, const std::shared_ptr<GraphEntry>& entry, bool* launched);
  const capture::QueueInfo& queue_info(const capture::OperationView& operation) const noexcept;
  void popped(std::uint32_t count);
  void publish();
  void begin_holding(std::uint64_t first, std::uint64_t since_ns, std::uint32_t count) noexcept;
  void add_held(QueueSlot* queue);
  void release_queues() noexcept;
  void note_error(int error) noexcept;
  [[nodiscard]] std::uint64_t begin_sample() noexcept;
  void let_graphs_rest(bool rest);
  void wake_up() noexcept;
  void consider_sleep() noexcept;
  [[nodiscard]] Dormancy::Seen seen() const noexcept;

  // Where nothing is ever held, submissions are looked at together: each alone, between two calls of a driver that
  // leaves nothing of this in the processor's caches, would cost several times as much.
  static constexpr std::uint32_t kUnseen = 32;

  // One cache line: what a submission needs that is held because it was expected. With the lock held, by the lane's own
  // thread or, while something is held, by any.
  std::atomic<const std::byte*> expected_{nullptr};
  const std::byte* expected_end_ = nullptr;  ///< of the records of what is expected
  std::uint64_t sequence_ = 0;               ///< the own thread's
  std::uint64_t attention_ = 0;              ///< see next_attention()
  /// Guards everything about held work while held_count_ is not 0.
  OwnerLock mutex_;
  std::atomic<std::uint32_t> held_count_{0};
  std::uint32_t noted_ = 0;  ///< of what was expected, those that came and are not among the held records yet
  EngineState& engine_;
  std::uint64_t asleep_ = 0;  ///< submissions that are still not looked at

  // layer/cuda/kernels.cpp looks here, too: 64 bytes behind the first member.
  alignas(64) std::unique_ptr<Unseen[]> unseen_;  ///< null: every submission is looked at when it comes
  std::uint32_t unseen_count_ = 0;
  std::uint64_t unseen_gone_ = 0;  ///< EngineState::gone when nothing was kept last
  bool wants_time_ = false;
  std::uint64_t number_;
  std::atomic<std::uint64_t> first_held_{0};
  std::unique_ptr<State> state_;
};

}  // namespace refrain::replay
