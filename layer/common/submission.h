// What every submission has in common: the protocol of replay/lane/lane.h. P is described in host_call.h, and has
//
//   recorder()          in capture mode, else null: nothing is held then
//
// An API's own call is an Operation, which need not have all of these (PlainOperation):
//
//   entry_point(), blocks()        of the call; whether it returns only when the work is done
//   cuts_as()                      what to call it where it blocks and so ends its stretch, as a capture does
//                                  (capture::kBlocking); null: it does not
//   look(running)                  flushes what other threads hold for its queue and for what it waits for, and says
//                                  what it is
//   changes()                      StateChanges::begun() before look() asked for what setters have set
//   decided(lane, verdict, number) the lane has said what becomes of it, and its number there
//   describe(writer, held)         writes the record, from begin to finish; may throw
//   not_described()                it did, and the operation is submitted instead
//   record(view)                   in capture mode, for the recorder: what was described
//   begin_hold(view)               it is held, now
//   held(error)                    it was: what the call returns; `error`: of other work, that was flushed
//   begin_issue()                  the driver is called next
//   issue()                        calls it
//   issued(status)                 it was called
//   answered(own, told)            the driver said `own`, and the program is told `told`
#pragma once

#include <algorithm>

#include "capture/operation.h"
#include "layer/common/host_call.h"
#include "replay/runtime/clock.h"

namespace refrain::layer::common {

/// The calling thread's lane if it is dormant and nothing is held anywhere: the call needs no more than tick_dormant().
template <class P>
[[nodiscard, gnu::always_inline]] inline replay::Lane* dormant_lane() noexcept {
  replay::Lane* lane = replay::Lane::current;
  if (lane == nullptr || !lane->is_dormant()) [[likely]] {
    return nullptr;
  }
  const replay::Engine* running = P::engine();
  return running != nullptr && !running->anything_held() ? lane : nullptr;
}

/// A submission that cannot be looked at: the engine is not at work, say, or the queue is not known. Nobody knows what
/// it depends on.
template <class P, class Issue>
[[gnu::always_inline]] inline typename P::Status pass_through(const replay::EntryPoint& entry_point, bool blocks,
                                                              Issue&& issue) noexcept {
  const NotCancelled during(blocks);
  HostCall<P> host_call(entry_point);
  const replay::Engine::Beside beside(P::any_engine());
  return host_call.done(issue(), blocks);
}

/// For an Operation with nothing to say about some of this.
struct PlainOperation {
  static bool blocks() noexcept { return false; }
  static const char* cuts_as() noexcept { return nullptr; }
  static void decided(const replay::Lane& /*lane*/, replay::Verdict /*verdict*/, std::uint64_t /*number*/) noexcept {}
  static void not_described() noexcept {}
  static void record(const capture::OperationView& /*view*/) noexcept {}
  static void begin_hold(const capture::OperationView& /*view*/) noexcept {}
  static void begin_issue() noexcept {}
  template <class Status>
  static void issued(Status /*status*/) noexcept {}
  template <class Status>
  static void answered(Status /*own*/, Status /*reported*/) noexcept {}
};

/// Calls the driver for an operation that is not held. `timed`: see Lane::wants_time().
template <class P, class Operation>
[[gnu::always_inline]] inline typename P::Status issue_now(replay::Lane& lane, Operation& operation,
                                                           bool timed) noexcept {
  using Status = typename P::Status;
  operation.begin_issue();
  const std::uint64_t before = timed ? replay::now_ns() : 0;
  const Status status = operation.issue();
  const std::uint64_t spent = timed ? replay::now_ns() - before : 0;
  operation.issued(status);
  const auto reported = static_cast<Status>(
      lane.issued(static_cast<int>(status), static_cast<std::uint32_t>(std::min<std::uint64_t>(spent, ~0U))));
  P::answer(status, reported);
  operation.answered(status, reported);
  if (operation.blocks()) {
    if (const char* const cut = status == Status{} ? operation.cuts_as() : nullptr; cut != nullptr) {
      lane.blocking_cut(cut);
    }
    lane.host_call_done(operation.entry_point(), true);
    P::waited();
  }
  return reported;
}

/// Gives the operation to the calling thread's lane, which has it held or issued.
template <class P, class Operation>
[[gnu::always_inline]] inline typename P::Status submit(replay::Engine& running, Operation& operation) noexcept {
  // A program that asks for the thread's end while the call blocks gets it when the thread next waits.
  const NotCancelled during(operation.blocks());
  [[maybe_unused]] const typename P::Scope scope{};
  replay::Lane& lane = running.lane();
  const replay::Submission submission = operation.look(running);
  const std::uint64_t sequence = lane.next_sequence();
  const replay::Verdict verdict = lane.submit(submission);
  operation.decided(lane, verdict, sequence);
  if (verdict == replay::Verdict::kIssue) [[likely]] {
    return issue_now<P>(lane, operation, false);
  }
  const bool hold = verdict == replay::Verdict::kHold;
  capture::OperationWriter writer = lane.writer();
  try {
    operation.describe(writer, hold);
  } catch (...) {
    lane.abandon();
    running.fail("out of memory while a submission was described");
    operation.not_described();
    return issue_now<P>(lane, operation, false);
  }
  const capture::OperationView record(reinterpret_cast<const std::byte*>(&writer.header()));
  if (hold) {
    operation.begin_hold(record);
    const int error = lane.hold();
    if (running.state_changes().begun() != operation.changes()) [[unlikely]] {
      lane.flush(false);  // by what was set before, and the setter did not see it; what follows is another stretch
    }
    return operation.held(error);
  }
  if (P::recorder() != nullptr) [[unlikely]] {
    operation.record(record);
  }
  return issue_now<P>(lane, operation, lane.wants_time());
}

}  // namespace refrain::layer::common
