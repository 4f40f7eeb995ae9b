// Calls that wait for the device or ask how far it is, and stream captures of the application.
#pragma once

#include "env/mutex.h"
#include "layer/streams/captures.h"
#include "layer/streams/events.h"
#include "layer/streams/host_call.h"
#include "layer/streams/stream_table.h"

namespace refrain::layer::streams {

/// Flushes what other threads hold and a call can observe that looks at one stream: other work that it waits for was
/// submitted before that stream's. Null: it is not known which stream.
template <class State>
void flush_observed_stream(replay::Engine& running, State* stream) noexcept {
  stream != nullptr ? flush_holders(running, *stream) : running.flush_others();
}

/// The same for one event.
template <class L>
void flush_observed_event(replay::Engine& running, typename L::Api::EventHandle handle) noexcept {
  const auto* event = find_event<L>(handle);
  event != nullptr ? flush_record(running, *event) : running.flush_others();
}

/// Before a call that asks: what the thread knows to be done must not be said to be missing because Refrain put
/// something behind it.
template <class L>
void before_question() noexcept {
  if (ProxyStreams<typename L::Api>::left != nullptr && ProxyStreams<typename L::Api>::waited) [[unlikely]] {
    close_left_proxy<L>();
  }
}

/// The thread knows that the event is done, and with it what it put into the proxy stream that it left before the
/// event was recorded.
template <class L>
[[gnu::noinline]] void event_done(typename L::Api::EventHandle handle) noexcept {
  using Proxies = ProxyStreams<typename L::Api>;
  Proxies::waited = true;
  const auto* event = find_event<L>(handle);
  replay::Engine* running = L::any_engine();
  if (event == nullptr || running == nullptr) {
    return;
  }
  const replay::Lane& lane = running->lane();
  Proxies::done |= event->lane.load(std::memory_order_relaxed) == lane.number() &&
                   event->sequence.load(std::memory_order_relaxed) + 1 == lane.next_sequence() &&
                   event->stream.load(std::memory_order_relaxed) == Proxies::left->stream;
}

/// `status`: of a call that waited for the event, or asked whether it is done.
template <class L>
void asked_event(typename L::Api::EventHandle handle, typename L::Api::Status status) noexcept {
  if (ProxyStreams<typename L::Api>::left != nullptr && status == L::Api::kSuccess) [[unlikely]] {
    event_done<L>(handle);
  }
}

/// A call that waits for a stream, and for nothing else.
template <class L, class Wait>
typename L::Api::Status wait_for_stream(const replay::EntryPoint& entry_point, typename L::Api::StreamHandle handle,
                                        DefaultStream by_default, Wait&& call) {
  HostCall<L> host_call(entry_point, [&](replay::Engine& running) {
    flush_observed_stream(running, find_known_stream<L>(handle, by_default));
  });
  return host_call.done(call(), true);
}

/// The same for an event.
template <class L, class Wait>
typename L::Api::Status wait_for_event(const replay::EntryPoint& entry_point, typename L::Api::EventHandle handle,
                                       Wait&& call) {
  HostCall<L> host_call(entry_point, [&](replay::Engine& running) { flush_observed_event<L>(running, handle); });
  const auto status = call();
  asked_event<L>(handle, status);
  return host_call.done(status, true);
}

/// A call that may observe anything that was submitted, and submits nothing that could still run when it returns.
template <class L, class Wait>
typename L::Api::Status observe(const replay::EntryPoint& entry_point, bool waits, Wait&& call) {
  HostCall<L> host_call(entry_point, false);
  return host_call.done(call(), waits);
}

/// Whether an event is done.
template <class L, class Query>
StatusOf<L> query_event(const replay::EntryPoint& entry_point, typename L::Api::EventHandle handle,
                        Query&& call) noexcept {
  HostCall<L> host_call(entry_point, [&](replay::Engine& running) { flush_observed_event<L>(running, handle); });
  before_question<L>();
  const auto status = call();
  asked_event<L>(handle, status);
  return host_call.done(status, false);
}

/// Whether a stream is done.
template <class L, class Query>
StatusOf<L> query_stream(const replay::EntryPoint& entry_point, typename L::Api::StreamHandle handle,
                         DefaultStream by_default, Query&& call) noexcept {
  HostCall<L> host_call(entry_point, [&](replay::Engine& running) {
    flush_observed_stream(running, find_known_stream<L>(handle, by_default));
  });
  before_question<L>();
  return host_call.done(call(), false);
}

/// A call that may return before what it does is done (copies from device to device, or from host memory that was
/// staged): work that nobody counted.
template <class L, class Copy>
typename L::Api::Status copy_now(const replay::EntryPoint& entry_point, Copy&& call) {
  HostCall<L> host_call(entry_point);
  return host_call.done(call(), true);
}

template <class L, class Begin>
typename L::Api::Status begin_capture(const replay::EntryPoint& entry_point, typename L::Api::StreamHandle stream,
                                      DefaultStream by_default, Begin&& begin) noexcept {
  HostCall<L> host_call(entry_point);
  {
    // Counted before it begins: whatever any thread submits from now on may belong to it.
    const env::MutexLock guard(Captures<L>::all().mutex);
    capture_begins<L>();
  }
  if (replay::Engine* running = L::engine(); running != nullptr) {
    running->flush_all(entry_point);  // what other threads hold by now
  }
  const typename L::Api::Status status = [&] {
    const replay::Engine::Beside beside(L::any_engine());  // who compares asks about streams
    return begin();
  }();
  try {
    Captures<L>& captures = Captures<L>::all();
    const env::MutexLock guard(captures.mutex);
    if (status != L::Api::kSuccess || !captures.streams.insert({handle_of(stream), by_default}).second) {
      capture_ends<L>();
    }
  } catch (...) {
    // The count stays up: everything passes through from now on.
  }
  PastStreams<L>::all().adopt();
  return host_call.done(status, false);
}

template <class L, class End>
typename L::Api::Status end_capture(const replay::EntryPoint& entry_point, typename L::Api::StreamHandle stream,
                                    DefaultStream by_default, End&& end) noexcept {
  HostCall<L> host_call(entry_point);
  const typename L::Api::Status status = end();
  if (status != L::Api::kCaptureWrongThread && status != L::Api::kCaptureUnmatched) {
    no_capture_of<L>({handle_of(stream), by_default});
    PastStreams<L>::all().adopt();
  }
  return host_call.done(status, false);
}

}  // namespace refrain::layer::streams
