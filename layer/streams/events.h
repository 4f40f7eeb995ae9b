// Events: recorded, waited for by streams, destroyed.
//
// A held record reaches the driver when its work does (Hooks::fulfil): until then every function that could
// look at the event flushes first. Inside a graph, record and wait are an edge.
#pragma once

#include <algorithm>

#include "layer/streams/submission.h"

namespace refrain::layer::streams {

inline const char* const kUnknownEvent = "it uses an event that Refrain did not see made";
inline const char* const kWaitedFor = "an earlier wait for the same event has not been submitted yet";
inline const char* const kFlags = "the event is recorded or waited for with flags";

/// Waits further back than this share one token.
inline constexpr std::uint64_t kFarBack = 4096;

template <class L>
EventState<typename L::Api>* find_event(typename L::Api::EventHandle event) noexcept {
  return L::objects().events.find(handle_of(event));
}

/// The newest record of the event, if another thread still holds it, is submitted.
template <class Api>
void settle_record(replay::Engine& running, const EventState<Api>& event) noexcept {
  const std::uint64_t lane = event.lane.load(std::memory_order_relaxed);
  if (running.anything_held() && lane != 0 && lane != running.lane().number()) {
    running.settle_lane(lane, event.sequence.load(std::memory_order_relaxed));
  }
}

/// Held work of another thread that names the event is submitted first.
template <class Api>
void settle_event(replay::Engine& running, const EventState<Api>& event) noexcept {
  settle_record(running, event);
  const std::uint64_t lane = event.waiting_lane.load(std::memory_order_relaxed);
  if (running.anything_held() && lane != 0 && lane != running.lane().number()) {
    running.settle_lane(lane, event.waiting_sequence.load(std::memory_order_relaxed));
  }
}

template <class L, class Find, class Issue>
StatusOf<L> record_event(const replay::EntryPoint& entry_point, typename L::Api::EventHandle handle,
                         typename L::Api::StreamHandle stream_handle, DefaultStream by_default, Find&& stream,
                         unsigned flags, Issue&& issue) noexcept {
  replay::Engine* running = L::engine();
  auto* event = find_event<L>(handle);
  if (flags != 0 && L::runtime().backend != nullptr) {  // "external" while a stream is captured: a node of the graph
    L::runtime().backend->order().graphs_record_events();
  }
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, stream_handle, by_default, &status, issue)) {
    if (event != nullptr) {  // nothing is known of its place
      event->lane.store(0, std::memory_order_relaxed);
      event->set_point({});
      L::runtime().backend->links().drop(&event->end);
    }
    return status;
  }
  const char* unholdable = flags != 0 ? kFlags : nullptr;
  if (event == nullptr) {
    unholdable = kUnknownEvent;
  } else if (running != nullptr) {
    settle_event(*running, *event);
    const replay::Lane& lane = running->lane();
    if (event->waiting_lane.load(std::memory_order_relaxed) == lane.number() &&
        lane.is_held(event->waiting_sequence.load(std::memory_order_relaxed))) {
      unholdable = kWaitedFor;
    }
  }
  const bool timing = event == nullptr || event->timing;
  backends::StreamPoint<typename L::Api> point;
  const Call call{entry_point, OperationKind::kEventRecord,
                  mix(static_cast<Token>(OperationKind::kEventRecord), timing ? 1 : 0), unholdable};
  auto* known = stream();
  return submit<L>(
      call, known,
      [&](capture::OperationWriter& writer, Token token, bool) {
        capture::OperationHeader& header = writer.begin(OperationKind::kEventRecord, token);
        header.promise = reinterpret_cast<std::uint64_t>(event);
        writer.word(timing ? 1 : 0);
        writer.finish();
      },
      [&] {
        if (event != nullptr && known != nullptr) {
          event->set_point({});
          point = L::runtime().backend->order().now(known->stream);
          ++point.tail;  // the record itself
        }
        return issue();
      },
      [&](std::uint64_t sequence, bool held) {
        if (event == nullptr) {
          return;
        }
        // Numbers of submissions only compare within a lane. What another one held of the event was settled above.
        const std::uint64_t own = running->lane().number();
        if (event->lane.exchange(own, std::memory_order_relaxed) != own) {
          event->recorded_sequence.store(0, std::memory_order_relaxed);
        }
        event->sequence.store(sequence, std::memory_order_relaxed);
        if (!held) {
          event->recorded_sequence.store(sequence, std::memory_order_relaxed);
          event->set_point(point);
          L::runtime().backend->links().drop(&event->end);
        } else {
          event->set_point({});
        }
      });
}

template <class L, class Find, class Issue>
StatusOf<L> wait_event(const replay::EntryPoint& entry_point, typename L::Api::StreamHandle stream_handle,
                       DefaultStream by_default, Find&& stream, typename L::Api::EventHandle handle, unsigned flags,
                       Issue&& issue) noexcept {
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, stream_handle, by_default, &status, issue)) {
    return status;
  }
  replay::Engine* running = L::engine();
  auto* event = find_event<L>(handle);
  const char* unholdable = flags != 0 ? kFlags : nullptr;
  Token token = mix(static_cast<Token>(OperationKind::kEventWait), 0);
  bool own = false;
  if (event == nullptr) {
    unholdable = kUnknownEvent;
  } else if (running != nullptr) {
    const replay::Lane& lane = running->lane();
    own = event->lane.load(std::memory_order_relaxed) == lane.number();
    if (own) {
      const std::uint64_t distance = lane.next_sequence() - event->sequence.load(std::memory_order_relaxed);
      token = mix(token, std::min(distance, kFarBack));
    } else {
      settle_event(*running, *event);
    }
  }
  const Call call{entry_point, OperationKind::kEventWait, token, unholdable};
  auto* known = stream();
  backends::StreamPoint<typename L::Api> point;
  return submit<L>(
      call, known,
      [&](capture::OperationWriter& writer, Token whole, bool held) {
        writer.begin(OperationKind::kEventWait, whole);
        const std::uint64_t recorded = event == nullptr ? 0 : event->sequence.load(std::memory_order_relaxed);
        // What was already submitted is named by its event; only the order inside what is held, or inside what
        // is remembered, can become an edge.
        const bool inside = own && (held ? running->lane().is_held(recorded) : true);
        writer.wait(inside ? capture::kInternalWait | recorded : handle_of(handle));
        if (held && !inside) {
          event->waiting_lane.store(running->lane().number(), std::memory_order_relaxed);
          event->waiting_sequence.store(running->lane().next_sequence() - 1, std::memory_order_relaxed);
        }
        writer.finish();
      },
      [&] {
        if (event != nullptr) {
          point = event->point();
        }
        return issue();
      },
      [&](std::uint64_t, bool held) {
        if (!held && event != nullptr && point == event->point()) {
          L::runtime().backend->order().waits_for(known->stream, point);
        }
      });
}

/// An event was made, which is watched from now on.
template <class L>
void watch_event(typename L::Api::EventHandle event, bool timing) noexcept {
  if (auto* made = L::objects().events.make(); made != nullptr) {
    made->timing = timing;
    L::objects().events.insert(made, handle_of(event));
  }
}

template <class L, class Destroy>
StatusOf<L> destroy_event(const replay::EntryPoint& entry_point, typename L::Api::EventHandle handle,
                          Destroy&& call) noexcept {
  HostCall<L> host_call(entry_point, false);
  if (auto* event = find_event<L>(handle); event != nullptr) {
    if (L::runtime().backend != nullptr) {
      L::runtime().backend->links().drop(&event->end);
    }
    L::objects().events.erase(event);
    L::objects().events.recycle(event);
  }
  return host_call.done(call(), false);
}

}  // namespace refrain::layer::streams
