// What every command given to an immediate list has in common: the protocol of replay/lane/lane.h.
#pragma once

#include <type_traits>

#include "layer/common/stable_names.h"
#include "layer/common/submission.h"
#include "layer/level_zero/graphs.h"
#include "layer/level_zero/objects.h"
#include "layer/level_zero/wrappers.h"

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
  Signalling() noexcept = default;
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

/// While the program records graphs: the command was submitted, or it was recorded.
void note_beside_recording(const Call& call) noexcept;

template <class Issue>
ze_result_t pass_through(const Call& call, Issue&& issue) noexcept {
  const NotCancelled during(true);  // the list may be synchronous
  return common::pass_through<Protocol>(call.entry_point, false, [&] {
    note_unseen(call);
    const ze_result_t status = issue();
    forget_quiet_lists();
    return status;
  });
}

/// While the program records graphs nothing is held: only the driver knows which lists it records.
template <class Issue>
ze_result_t append_beside_recording(const Call& call, Issue&& issue) noexcept {
  const NotCancelled during(true);
  return common::pass_through<Protocol>(call.entry_point, false, [&] {
    const ze_result_t status = issue();
    if (status == ZE_RESULT_SUCCESS) {
      note_beside_recording(call);
    }
    return status;
  });
}

/// What layer/common asks of a command for an immediate list; the functions are those of submit().
template <class Describe, class Issue>
class Operation : public common::PlainOperation {
 public:
  Operation(const Call& call, ListState& list, const Describe& describe, const Issue& issue) noexcept
      : call_(call), list_(list), describe_(describe), issue_(issue) {}

  [[nodiscard]] const replay::EntryPoint& entry_point() const noexcept { return call_.entry_point; }
  [[nodiscard]] bool blocks() const noexcept { return list_.synchronous; }
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

  replay::Submission look(replay::Engine& running) noexcept {
    running.flush_holder(list_.slot);
    const char* unholdable = call_.unholdable != nullptr ? call_.unholdable : list_.unholdable;
    changes_ = running.state_changes().begun();
    around_ = set_around();
    token_ = mix(mix(call_.token, event_token(call_, running, &unholdable)), list_.token_seed + around_);
    return {token_, call_.kind, &list_.slot, unholdable};
  }
  void decided(const replay::Lane& lane, replay::Verdict /*verdict*/, std::uint64_t number) noexcept {
    lane_ = lane.number();
    number_ = number;
    signalling_ = Signalling(call_);
  }
  void describe(capture::OperationWriter& writer, bool /*held*/) const {
    describe_(writer, token_);
    write_events(call_, writer);
    writer.finish();
    writer.header().state = around_;
  }
  void record(const capture::OperationView& view) const noexcept { record_memory(view, list_); }
  void begin_hold(const capture::OperationView& /*view*/) const noexcept {
    note_events(call_, list_, signalling_, lane_, number_, 0);
  }
  static ze_result_t held(int error) noexcept { return static_cast<ze_result_t>(error); }
  void begin_issue() noexcept { appended_ = list_.list.appended.load(std::memory_order_relaxed); }
  ze_result_t issue() const noexcept { return issue_(); }
  void issued(ze_result_t status) const noexcept {
    list_.list.appended.fetch_add(1, std::memory_order_relaxed);
    if (status == ZE_RESULT_SUCCESS) {
      note_events(call_, list_, signalling_, lane_, number_, appended_);
    }
  }

 private:
  const Call& call_;
  ListState& list_;
  const Describe& describe_;
  const Issue& issue_;
  Signalling signalling_;
  std::uint64_t changes_ = 0, around_ = 0;
  std::uint64_t lane_ = 0, number_ = 0;
  std::uint64_t appended_ = 0;  ///< to the list, when the driver was called
  Token token_ = 0;
};

/// `describe(writer, token)` writes the record up to its events; it may throw. `issue()` calls the driver.
template <class Describe, class Issue>
ze_result_t submit(const Call& call, Describe&& describe, Issue&& issue) noexcept {
  replay::Engine* running = engine();
  if (running == nullptr) [[unlikely]] {
    return pass_through(call, issue);
  }
  ListState* list = objects.lists.find(handle_of(call.list));
  if (recording_anything() && (list == nullptr || list->immediate)) [[unlikely]] {
    return append_beside_recording(call, issue);
  }
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
  Operation<std::remove_reference_t<Describe>, std::remove_reference_t<Issue>> operation(call, *list, describe, issue);
  return common::submit<Protocol>(*running, operation);
}

inline constexpr const char* kMoreParameters = "it has further parameters, in a chain of structures";

/// A command that is counted, but never held.
template <class Issue>
ze_result_t submit_unheld(Call call, const char* why, Issue&& issue) noexcept {
  call.unholdable = why;
  call.token = mix(static_cast<Token>(call.kind), stable_name(call.entry_point));
  return submit(
      call,
      [&](capture::OperationWriter& writer, Token token) { writer.begin(capture::without_words(call.kind), token); },
      issue);
}

}  // namespace refrain::layer::level_zero
