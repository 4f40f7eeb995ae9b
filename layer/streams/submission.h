// What every submission to a stream has in common: the protocol of replay/lane/lane.h.
#pragma once

#include <algorithm>

#include "layer/streams/host_call.h"
#include "layer/streams/objects.h"
#include "layer/streams/stream_table.h"
#include "replay/runtime/clock.h"

namespace refrain::layer::streams {

using capture::mix;

template <class L>
using StatusOf = typename L::Api::Status;

/// A submission as far as all kinds are the same.
struct Call {
  const replay::EntryPoint& entry_point;
  OperationKind kind;
  Token token;  ///< of everything but the stream
  const char* unholdable = nullptr;
  bool blocks = false;        ///< returns only when the work is done
  std::uint64_t changes = 0;  ///< of a kernel: StateChanges::begun() before `state` was found
  std::uint64_t state = 0;    ///< what setters have set of its kernel: part of the token
};

/// The calling thread's lane if it sleeps and nothing is held anywhere: the call needs no more than doze().
template <class L>
[[gnu::always_inline]] inline replay::Lane* sleeping_lane() noexcept {
  replay::Lane* lane = replay::Lane::current;
  if (lane == nullptr || !lane->asleep()) [[likely]] {
    return nullptr;
  }
  const replay::Engine* running = L::engine();
  return running != nullptr && !running->anything_held() ? lane : nullptr;
}

// What takes `issue` is inlined everywhere: elsewhere the call's arguments would be written to memory first, for a
// function that is hardly ever called (an observed launch: 320 instructions instead of 275,
// test/bench/overhead/footprint).

/// Calls the driver without looking at the submission.
template <class L, class Issue>
[[gnu::always_inline]] inline StatusOf<L> issue_asleep(replay::Lane& lane, Issue&& issue) noexcept {
  lane.doze();
  leave_stand_in<L>();
  return issue();
}

/// True while nothing may be looked at: the engine is not at work, or the application captures a stream (asking
/// the driver about a stream could then invalidate the capture).
template <class L>
[[nodiscard, gnu::always_inline]] inline bool passing() noexcept {
  return L::runtime().captures.load(std::memory_order_relaxed) != 0 || L::engine() == nullptr;
}

template <class L, class Issue>
[[gnu::always_inline]] inline StatusOf<L> pass_through(const replay::EntryPoint& entry_point, Issue&& issue) noexcept {
  HostCall<L> host_call(entry_point);
  return host_call.done(issue(), false);
}

/// The beginning of every submission: the short ways, on which nothing is looked at. False: go on.
template <class L, class Issue>
[[gnu::always_inline]] inline bool short_way(const replay::EntryPoint& entry_point, StatusOf<L>* status,
                                             Issue&& issue) noexcept {
  if (replay::Lane* lane = sleeping_lane<L>(); lane != nullptr) {
    *status = issue_asleep<L>(*lane, issue);
    return true;
  }
  if (passing<L>()) [[unlikely]] {
    *status = pass_through<L>(entry_point, issue);
    return true;
  }
  return false;
}

/// `describe(writer, token, held)` writes the record up to finish(); it may throw. `issue()` calls the driver;
/// `after(sequence, held)` runs when the operation was issued without an error, or is held.
template <class L, class Describe, class Issue, class After>
StatusOf<L> submit(const Call& call, StreamState<typename L::Api>* stream, Describe&& describe, Issue&& issue,
                   After&& after) noexcept {
  replay::Engine* running = L::any_engine();  // if it gave up just now, the lane knows
  if (running == nullptr || stream == nullptr) [[unlikely]] {
    return pass_through<L>(call.entry_point, issue);
  }
  const std::uint64_t changes = call.kind == OperationKind::kKernel ? call.changes : running->state_changes().begun();
  replay::Lane& lane = running->lane();
  const bool replays = L::runtime().replays;  // if not, nothing is ever held, or linked
  if (replays) {
    settle(*running, *stream);
  }
  const char* unholdable = call.unholdable != nullptr ? call.unholdable : stream->unholdable;
  const bool threads_own = stream->unholdable == kThreadsOwn;
  if (threads_own) [[unlikely]] {
    const char* const why_not = replays ? why_no_stand_in<L>(*stream) : nullptr;
    unholdable = call.unholdable != nullptr ? call.unholdable : why_not;
  }
  const Token seed = stream->token_seed.load(std::memory_order_relaxed);
  const Token token = mix(call.token, seed);
  const std::uint64_t sequence = lane.next_sequence();
  const replay::Verdict verdict = lane.submit({token, call.kind, &stream->slot, unholdable});
  const auto issued = [&](StatusOf<L> status, std::uint32_t host_ns) {
    const auto result = static_cast<StatusOf<L>>(lane.issued(status, host_ns));
    if (result != status) [[unlikely]] {
      L::on_held_error(result);
    } else if (status == L::Api::kSuccess) {
      L::on_success();
    }
    if (status == L::Api::kSuccess) {
      after(sequence, false);
    }
    if (call.blocks) {
      lane.host_call_done(call.entry_point, true);
    }
    return result;
  };
  const bool hold = verdict == replay::Verdict::kHold;
  if (!hold && replays && threads_own) [[unlikely]] {
    leave_stand_in<L>();
  }
  if (verdict == replay::Verdict::kIssue) [[likely]] {
    return issued(issue(), 0);
  }
  capture::OperationWriter writer = lane.writer();
  try {
    describe(writer, token, hold);
  } catch (...) {
    lane.abandon();
    running->fail("out of memory while a submission was described");
    leave_stand_in<L>();
    return issued(issue(), 0);
  }
  writer.header().state = seed ^ call.state;
  if (L::runtime().recorder != nullptr) [[unlikely]] {  // nothing is held then
    L::tell_recorder(*stream, call.entry_point,
                     capture::OperationView(reinterpret_cast<const std::byte*>(&writer.header())));
  }
  if (hold) {
    if (threads_own) [[unlikely]] {
      use_stand_in<L>(*stream);
    }
    after(sequence, true);
    const auto result = static_cast<StatusOf<L>>(lane.hold());
    if (running->state_changes().begun() != changes) [[unlikely]] {
      lane.flush(false);  // by what was set before, and the setter did not see it; what follows is another stretch
    }
    L::on_hold(result);
    return result;
  }
  if (!lane.wants_time()) {
    return issued(issue(), 0);
  }
  const std::uint64_t before = replay::now_ns();
  const StatusOf<L> status = issue();
  const std::uint64_t spent = replay::now_ns() - before;
  return issued(status, static_cast<std::uint32_t>(std::min<std::uint64_t>(spent, ~0U)));
}

template <class L, class Describe, class Issue>
StatusOf<L> submit(const Call& call, StreamState<typename L::Api>* stream, Describe&& describe,
                   Issue&& issue) noexcept {
  return submit<L>(call, stream, describe, issue, [](std::uint64_t, bool) {});
}

/// A submission that is counted, but never held; `stream` finds the record of its stream.
template <class L, class Find, class Issue>
StatusOf<L> submit_unheld(const replay::EntryPoint& entry_point, OperationKind kind, const char* why, Find&& stream,
                          Issue&& issue) noexcept {
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, &status, issue)) {
    return status;
  }
  const Call call{entry_point, kind, mix(static_cast<Token>(kind), reinterpret_cast<std::uint64_t>(&entry_point)), why};
  return submit<L>(
      call, stream(),
      [&](capture::OperationWriter& writer, Token token, bool) {
        writer.begin(kind == OperationKind::kPointerCopy ? OperationKind::kOther : kind, token);
        writer.finish();
      },
      issue);
}

/// The same in the stream that the calling thread means by `stream`.
template <class L, class Issue>
StatusOf<L> submit_unheld(const replay::EntryPoint& entry_point, OperationKind kind, const char* why,
                          typename L::Api::StreamHandle stream, DefaultStream by_default, Issue&& issue) noexcept {
  return submit_unheld<L>(
      entry_point, kind, why, [&] { return find_stream<L>(stream, by_default); }, issue);
}

}  // namespace refrain::layer::streams
