// What every command given to an immediate list has in common: the protocol of replay/lane/lane.h.
#pragma once

#include <algorithm>

#include "layer/level_zero/objects.h"
#include "layer/level_zero/wrappers.h"
#include "replay/runtime/clock.h"

namespace refrain::layer::level_zero {

using capture::mix;

/// A command as far as all kinds are the same.
struct Call {
  const replay::EntryPoint& entry_point;
  OperationKind kind;
  ze_command_list_handle_t list;
  ze_event_handle_t signal = nullptr;
  std::uint32_t wait_count = 0;
  ze_event_handle_t* waits = nullptr;
  ze_event_handle_t reset = nullptr;
  Token token = 0;  ///< of everything but list and events
  const char* unholdable = nullptr;
  bool orders_everything = false;  ///< a barrier: it comes after all earlier commands of its list
};

/// Writes the arguments for the command's events (kernel_call.h) and the record's waits.
void write_events(const Call& call, capture::OperationWriter& writer);
/// The token of the command's events, and whether they allow it to be held (null, or why not). Flushes what other
/// threads hold of them.
Token event_token(const Call& call, replay::Engine& running, const char** unholdable) noexcept;
/// What the event that a command signals will mean; made before the driver is called.
class Signalling {
 public:
  explicit Signalling(const Call& call) noexcept;
  [[nodiscard]] EventState* event() const noexcept { return event_; }
  /// See EventMeaning::signals().
  void done(backends::ImmediateList* list, std::uint64_t covers) const noexcept {
    if (event_ != nullptr) {
      event_->meaning.signals(signal_, list, covers);
    }
  }

 private:
  EventState* event_ = nullptr;
  EventMeaning::Signal signal_;
};
/// After the command was submitted, or is held. `before`: commands of the list when the driver was called.
void note_events(const Call& call, ListState& list, const Signalling& signalling, std::uint64_t lane,
                 std::uint64_t sequence, std::uint64_t before) noexcept;
/// The same for a command of a regular list: kept until the list is executed.
void remember_events(const Call& call, ListState* list) noexcept;
/// A submission that nobody looks at: its events count all the same.
void note_unseen(const Call& call) noexcept;

template <class Issue>
ze_result_t pass_through(const Call& call, Issue&& issue) noexcept {
  HostCall host_call(call.entry_point);
  note_unseen(call);
  const ze_result_t status = issue();
  forget_quiet_lists();
  return host_call.done(status);
}

/// `describe(writer, token)` writes the record up to its events; it may throw. `issue()` calls the driver.
template <class Describe, class Issue>
ze_result_t submit(const Call& call, Describe&& describe, Issue&& issue) noexcept {
  replay::Engine* running = engine();
  if (running == nullptr) [[unlikely]] {
    return pass_through(call, issue);
  }
  ListState* list = objects.lists.find(handle_of(call.list));
  if (list == nullptr) {
    return pass_through(call, issue);
  }
  if (!list->immediate) {  // the application's own recording
    const ze_result_t status = issue();
    if (status == ZE_RESULT_SUCCESS) {
      remember_events(call, list);
    }
    return status;
  }
  replay::Lane& lane = running->lane();
  running->settle(list->slot);
  const char* unholdable = call.unholdable != nullptr ? call.unholdable : list->unholdable;
  const std::uint64_t changes = running->state_changes().begun();
  const std::uint64_t around = set_around();
  const Token token = mix(mix(call.token, event_token(call, *running, &unholdable)), list->token_seed + around);
  const std::uint64_t sequence = lane.next_sequence();
  const replay::Verdict verdict = lane.submit({token, call.kind, &list->slot, unholdable});
  const Signalling signalling(call);
  const auto issue_it = [&](bool timed) {
    const std::uint64_t appended = list->list.appended.load(std::memory_order_relaxed);
    const std::uint64_t before = timed ? replay::now_ns() : 0;
    const ze_result_t status = issue();
    const std::uint64_t spent = timed ? replay::now_ns() - before : 0;
    list->list.appended.fetch_add(1, std::memory_order_relaxed);
    if (status == ZE_RESULT_SUCCESS) {
      note_events(call, *list, signalling, lane.number(), sequence, appended);
    }
    return static_cast<ze_result_t>(
        lane.issued(static_cast<int>(status), static_cast<std::uint32_t>(std::min<std::uint64_t>(spent, ~0U))));
  };
  if (verdict == replay::Verdict::kIssue) [[likely]] {
    return issue_it(false);
  }
  capture::OperationWriter writer = lane.writer();
  try {
    describe(writer, token);
    write_events(call, writer);
    writer.finish();
    writer.header().state = around;
  } catch (...) {
    lane.abandon();
    running->fail("out of memory while a submission was described");
    return issue_it(false);
  }
  if (runtime.recorder != nullptr) [[unlikely]] {  // nothing is held then
    tell_memory(capture::OperationView(reinterpret_cast<const std::byte*>(&writer.header())), list->slot.info.context);
  }
  if (verdict == replay::Verdict::kHold) {
    note_events(call, *list, signalling, lane.number(), sequence, 0);
    const auto result = static_cast<ze_result_t>(lane.hold());
    if (running->state_changes().begun() != changes) [[unlikely]] {
      lane.flush(false);  // by what was set before, and the setter did not see it
    }
    return result;
  }
  return issue_it(lane.wants_time());
}

/// A command that is counted, but never held.
template <class Issue>
ze_result_t submit_unheld(Call call, const char* why, Issue&& issue) noexcept {
  call.unholdable = why;
  call.token = mix(static_cast<Token>(call.kind), reinterpret_cast<std::uint64_t>(&call.entry_point));
  return submit(
      call, [&](capture::OperationWriter& writer, Token token) { writer.begin(call.kind, token); }, issue);
}

}  // namespace refrain::layer::level_zero
