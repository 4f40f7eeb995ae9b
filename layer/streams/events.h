// Events: recorded, waited for by streams, destroyed.
//
// A held record or wait reaches the driver as it is, in the order of the calls, between one graph and the next
// (StreamBackend::issue()): until then every function that could look at the event flushes first.
#pragma once

#include "layer/common/wait_role.h"
#include "layer/streams/submission.h"

namespace refrain::layer::streams {

inline const char* const kUnknownEvent = "it uses an event that Refrain did not see made";
inline const char* const kOtherContext = "its event may belong to another context";
inline const char* const kFlags = "the event is recorded or waited for with flags";

template <class L>
EventState<typename L::Api>* find_event(typename L::Api::EventHandle event) noexcept {
  return L::objects().events.find(handle_of(event));
}

/// The newest record of the event, if another thread still holds it, is submitted.
template <class Api>
void flush_record(replay::Engine& running, const EventState<Api>& event) noexcept {
  const std::uint64_t lane = event.lane.load(std::memory_order_relaxed);
  if (running.anything_held() && lane != 0 && lane != running.lane().number()) {
    running.flush_lane(lane, event.sequence.load(std::memory_order_relaxed));
  }
}

/// Held work of another thread that names the event is submitted first.
template <class Api>
void flush_event(replay::Engine& running, const EventState<Api>& event) noexcept {
  flush_record(running, event);
  const std::uint64_t lane = event.waiting_lane.load(std::memory_order_relaxed);
  if (running.anything_held() && lane != 0 && lane != running.lane().number()) {
    running.flush_lane(lane, event.waiting_sequence.load(std::memory_order_relaxed));
  }
}

template <class L, class Find, class Issue>
StatusOf<L> record_event(const replay::EntryPoint& entry_point, typename L::Api::EventHandle handle, Find&& stream,
                         unsigned flags, Issue&& issue) noexcept {
  replay::Engine* running = L::engine();
  auto* event = find_event<L>(handle);
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, &status, issue)) {
    if (event != nullptr) {
      event->lane.store(0, std::memory_order_relaxed);  // nothing is known of its place
      event->newest_wait.forget();
    }
    return status;
  }
  const char* unholdable = flags != 0 ? kFlags : nullptr;
  if (event == nullptr) {
    unholdable = kUnknownEvent;
  } else if (running != nullptr) {
    flush_event(*running, *event);
    unholdable = running->anything_trails() ? kBehindFree : unholdable;
  }
  auto* known = stream();
  if (known != nullptr && event != nullptr && event->context != known->stream.context) {
    unholdable = kOtherContext;  // the driver is to refuse it at once
  }
  Call call{entry_point, OperationKind::kEventRecord, static_cast<Token>(OperationKind::kEventRecord), unholdable};
  if (known != nullptr && known->stream.awaited.load(std::memory_order_relaxed)) {
    // The other thread would submit it, and all before it, in this one's place, and each keep the other from its own.
    call.ends = true;
    call.token = mix(call.token, 1);
  }
  return submit<L>(
      call, known,
      [&](capture::OperationWriter& writer, Token token, bool) {
        capture::OperationHeader& header = writer.begin(OperationKind::kEventRecord, token);
        header.function_handle = handle_of(handle);
        header.promise = reinterpret_cast<std::uint64_t>(event);
        writer.finish();
      },
      issue,
      [&](std::uint64_t sequence, bool) {
        if (event != nullptr) {
          event->lane.store(running->lane().number(), std::memory_order_relaxed);
          event->sequence.store(sequence, std::memory_order_relaxed);
          event->stream.store(&known->stream, std::memory_order_relaxed);
          event->newest_wait.forget();
        }
      });
}

template <class L, class Issue>
StatusOf<L> record_event(const replay::EntryPoint& entry_point, typename L::Api::EventHandle handle,
                         typename L::Api::StreamHandle stream, DefaultStream by_default, unsigned flags,
                         Issue&& issue) noexcept {
  return record_event<L>(
      entry_point, handle, [&] { return find_stream<L>(stream, by_default); }, flags, issue);
}

template <class L, class Find, class Issue>
StatusOf<L> wait_event(const replay::EntryPoint& entry_point, Find&& stream, typename L::Api::EventHandle handle,
                       unsigned flags, Issue&& issue) noexcept {
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, &status, issue)) {
    return status;
  }
  replay::Engine* running = L::engine();
  auto* event = find_event<L>(handle);
  const char* unholdable = flags != 0 ? kFlags : nullptr;
  auto* known = stream();
  Token token = mix(static_cast<Token>(OperationKind::kEventWait), 0);
  bool own = false;
  bool told = false;
  if (event == nullptr) {
    unholdable = kUnknownEvent;
  } else if (running != nullptr) {
    const replay::Lane& lane = running->lane();
    const std::uint64_t recorded_by = event->lane.load(std::memory_order_relaxed);
    own = recorded_by == lane.number();
    // The order of the stream implies a wait for what was recorded in it.
    told = own && known != nullptr && event->stream.load(std::memory_order_relaxed) != &known->stream;
    if (told) {
      const std::uint64_t made = event->sequence.load(std::memory_order_relaxed);
      token = mix(token, event->newest_wait.role(lane, lane.number(), made).token);
    } else if (!own) {
      flush_event(*running, *event);
      if (auto* const recorded_in = event->stream.load(std::memory_order_relaxed);
          recorded_by != 0 && recorded_in != nullptr) {
        recorded_in->awaited.store(true, std::memory_order_relaxed);
      }
    }
  }
  const Call call{entry_point, OperationKind::kEventWait, token, unholdable};
  return submit<L>(
      call, known,
      [&](capture::OperationWriter& writer, Token whole, bool held) {
        writer.begin(OperationKind::kEventWait, whole).function_handle = handle_of(handle);
        const std::uint64_t recorded = event == nullptr ? 0 : event->sequence.load(std::memory_order_relaxed);
        // Only the order inside what is held, or inside what is remembered, is an edge.
        const bool inside = own && (held ? running->lane().is_held(recorded) : true);
        writer.wait(inside ? capture::kInternalWait | recorded : handle_of(handle));
        if (held && !inside) {
          event->waiting_lane.store(running->lane().number(), std::memory_order_relaxed);
          event->waiting_sequence.store(running->lane().next_sequence() - 1, std::memory_order_relaxed);
        }
        writer.finish();
      },
      issue,
      [&](std::uint64_t sequence, bool) {
        if (told) {
          event->newest_wait.note(running->lane().number(), sequence, 0);
        }
      });
}

template <class L, class Issue>
StatusOf<L> wait_event(const replay::EntryPoint& entry_point, typename L::Api::StreamHandle stream,
                       DefaultStream by_default, typename L::Api::EventHandle handle, unsigned flags,
                       Issue&& issue) noexcept {
  return wait_event<L>(
      entry_point, [&] { return find_stream<L>(stream, by_default); }, handle, flags, issue);
}

/// An event was made, which is watched from now on.
template <class L>
void watch_event(typename L::Api::EventHandle event) noexcept {
  if (auto* made = L::objects().events.make(); made != nullptr) {
    made->context = L::current_context();
    L::objects().events.insert(made, handle_of(event));
  }
}

template <class L, class Destroy>
StatusOf<L> destroy_event(const replay::EntryPoint& entry_point, typename L::Api::EventHandle handle,
                          Destroy&& call) noexcept {
  HostCall<L> host_call(entry_point, false);
  if (auto* event = find_event<L>(handle); event != nullptr) {
    L::objects().events.erase(event);
    L::objects().events.recycle(event);
  }
  return host_call.done(call(), false);
}

}  // namespace refrain::layer::streams
