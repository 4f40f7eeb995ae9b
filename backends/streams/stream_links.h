// Streams whose next work has to wait for a graph that was launched on another stream.
//
// A graph over several streams runs on one of them. What comes next in the others comes after it; but most of
// the time what comes next is the next graph on the same stream, and an event between two graphs costs the
// device several microseconds. So the others are only linked to that stream, and the event is recorded when
// somebody is about to submit to one of them, or anything but such a graph to the stream itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "backends/streams/event_pool.h"
#include "backends/streams/stream.h"

namespace refrain::backends {

/// Thread-safe.
template <class Api>
class StreamLinks {
 public:
  using Streams = std::span<Stream<Api>* const>;

  StreamLinks(const typename Api::Driver& driver, EventPool<Api>& events, StreamOrder<Api>& order) noexcept
      : driver_(driver), events_(events), order_(order) {}

  /// True if any stream is linked to another: one relaxed load.
  [[nodiscard]] bool any() const noexcept { return links_.load(std::memory_order_relaxed) != 0; }

  /// A graph was launched on `main`, and is among its first `tail` submissions (StreamOrder::submitted()); the next
  /// work of `others` has to wait for it, and for nothing that other threads submitted to `main` meanwhile. `before`:
  /// of each of the others, what the graph comes after.
  void link(Stream<Api>& main, std::uint64_t tail, Streams others, std::span<const StreamPoint<Api>> before) noexcept;
  /// Before work that is no graph over the same streams is submitted to `stream`: its links become real waits,
  /// and so do those of streams that would wait for that work as well.
  void settle(Stream<Api>& stream) noexcept {
    if (stream.linked.load(std::memory_order_acquire)) [[unlikely]] {
      settle_linked(stream);
    }
  }
  /// Before a graph over `main` and `others` is launched on `main`.
  void settle_for(Stream<Api>& main, Streams others) noexcept;
  /// Before anything that may look at, or submit to, any stream.
  void settle_all() noexcept {
    if (any()) [[unlikely]] {
      settle_every_link();
    }
  }
  /// An event of Refrain's was recorded behind `point` of `stream`.
  void ended(Stream<Api>& stream, NativeEvent<Api>& event, const StreamPoint<Api>& point) noexcept {
    const std::lock_guard guard(mutex_);
    event.references.fetch_add(1, std::memory_order_relaxed);
    keep_end_of(stream, event, point);
  }
  /// Where an event that is to be recorded in `stream` can be recorded without more. `end` becomes the end of what the
  /// event is recorded behind, if others may know that end: that of a graph over several streams, or `known`.
  [[nodiscard]] Stream<Api>& recording_place(Stream<Api>& stream, NativeEvent<Api>* known, GraphEnd<Api>* end) noexcept;
  /// The event is recorded anew, or goes.
  void drop(GraphEnd<Api>* end) noexcept;
  /// True once a graph over several streams had an end that anybody wanted.
  [[nodiscard]] bool any_end() const noexcept { return any_end_.load(std::memory_order_acquire); }
  /// Whether all that `stream` can still have unfinished is what Refrain put behind a graph that is done. Asks the
  /// driver only if the stream had a part in such a graph.
  [[nodiscard]] bool only_ends_left(Stream<Api>& stream) noexcept;
  /// Whether an event recorded behind the graph of `end` must be told to be done.
  [[nodiscard]] bool done(const GraphEnd<Api>& end) noexcept;
  /// Whether the next work of `stream` comes after what `main` holds, by a link.
  [[nodiscard]] bool is_behind(const Stream<Api>& stream, const Stream<Api>& main) noexcept {
    if (!stream.linked.load(std::memory_order_acquire)) {
      return false;
    }
    const std::lock_guard guard(mutex_);
    return holds_all_of(stream, main);
  }
  /// The one of `others` to which all the rest and `home` are linked, and which holds nothing newer; `home` if there is
  /// none.
  [[nodiscard]] const Stream<Api>* leader_of(const Stream<Api>& home, Streams others) noexcept;
  /// A stream is destroyed, or its context: nothing is to be done for it any more.
  void forget(Stream<Api>& stream) noexcept;

 private:
  void settle_linked(Stream<Api>& stream) noexcept;
  void settle_every_link() noexcept;
  void settle_followers(Stream<Api>& stream) noexcept;
  void join(Stream<Api>& main, Stream<Api>& other) noexcept;
  void unlink(Stream<Api>& main, Stream<Api>& other) noexcept;
  NativeEvent<Api>* end_of(Stream<Api>& main, typename Api::Status* status) noexcept;
  [[nodiscard]] static bool holds_all_of(const Stream<Api>& stream, const Stream<Api>& main) noexcept;
  void keep_end_of(Stream<Api>& stream, NativeEvent<Api>& event, const StreamPoint<Api>& point) noexcept;
  void keep_end_for(Stream<Api>& other, const Stream<Api>& main) noexcept;
  void keep(GraphEnd<Api>* end, NativeEvent<Api>& event, const StreamPoint<Api>& point) noexcept;
  void keep_own(GraphEnd<Api>* end, NativeEvent<Api>& event, const StreamPoint<Api>& point) noexcept;
  [[nodiscard]] bool is_done(const GraphEnd<Api>& end) noexcept;
  void release(GraphEnd<Api>* end) noexcept;

  const typename Api::Driver& driver_;
  EventPool<Api>& events_;
  StreamOrder<Api>& order_;
  std::mutex mutex_;  ///< guards Stream::behind, followers and end of all streams, and the ends of events
  std::vector<Stream<Api>*> leaders_;  ///< streams that others are linked to
  std::atomic<std::uint32_t> links_{0};
  std::atomic<bool> any_end_{false};  ///< there was one at some time
};

template <class Api>
void StreamLinks<Api>::link(Stream<Api>& main, std::uint64_t tail, Streams others,
                            std::span<const StreamPoint<Api>> before) noexcept {
  if (others.empty()) {
    return;
  }
  const std::lock_guard guard(mutex_);
  for (std::size_t i = 0; i < others.size(); ++i) {
    Stream<Api>* const other = others[i];
    settle_followers(*other);  // they come after what it holds now, not after this graph
    StreamPoint<Api> place = before[i];
    // The link of the graph before became a wait meanwhile, because another thread called something: that wait ends
    // with what this graph comes after, too.
    if (other->waits_for == &main && other->wait_tail == place.tail + 1) {
      ++place.tail;
    }
    order_.waits_for(main, place);
    other->before_link = place;
    other->behind_tail = tail;
    release(&other->behind_end);
    keep_end_for(*other, main);
    if (other->behind == &main) {
      continue;
    }
    try {
      if (main.followers.empty()) {
        leaders_.push_back(&main);
      }
      main.followers.push_back(other);
    } catch (...) {
      join(main, *other);  // no memory for a link: the wait at once
      release(&other->behind_end);
      continue;
    }
    other->behind = &main;
    other->linked.store(true, std::memory_order_release);
    main.linked.store(true, std::memory_order_release);
    links_.fetch_add(1, std::memory_order_relaxed);
  }
}

/// Whether `stream` is linked to `main`, and that graph is still the newest that `main` holds.
template <class Api>
bool StreamLinks<Api>::holds_all_of(const Stream<Api>& stream, const Stream<Api>& main) noexcept {
  return stream.behind == &main && stream.behind_tail == main.tail.load(std::memory_order_acquire);
}

/// The real wait. Should the driver refuse, the host waits: slow and right.
template <class Api>
void StreamLinks<Api>::join(Stream<Api>& main, Stream<Api>& other) noexcept {
  const typename Api::Scope scope(driver_, main.context);
  // What another thread submitted to `main` since the graph must not be waited for: the program may have seen the graph
  // done, and what that thread submitted may itself wait for `other`.
  NativeEvent<Api>* event = other.behind_end.event;
  StreamPoint<Api> point = order_.now(main);
  if (event != nullptr) {
    point.tail = other.behind_end.tail;
    if (other.behind_end.epoch != order_.ends_epoch()) {
      point = {};  // nobody counted all that came before it
    }
  }
  // Nothing to wait for: and a program that has seen it done must not be told of a wait that is not over yet.
  if ((event != nullptr ? Api::query_event(driver_, event->handle) : Api::query_stream(driver_, main.handle)) ==
      Api::kSuccess) {
    order_.waits_for(other, point);
    return;
  }
  StreamPoint<Api> place = order_.now(other);
  // Else another thread put something there while the graph was being launched.
  const bool nothing_new = place.tail == other.before_link.tail;
  const bool certain = place == other.before_link;  // no call may have done so unseen, either
  typename Api::Status status = Api::kSuccess;
  if (event == nullptr) {
    event = end_of(main, &status);
  }
  if (event != nullptr) {
    status = Api::wait_event(driver_, other.handle, event->handle);
  }
  if (status != Api::kSuccess) {
    static_cast<void>(Api::synchronize(driver_, main.handle));
  }
  StreamOrder<Api>::submitted(other);
  ++place.tail;
  other.waits_for = &main;
  other.wait_tail = place.tail;
  order_.waits_for(other, point);
  // There is what the graph comes after, and the wait, which ends with it.
  if (certain) {
    order_.waits_for(main, place);
  }
  if (nothing_new && event != nullptr && status == Api::kSuccess) {
    keep(&other.end, *event, place);
  }
}

/// An event directly behind the newest graph of `main`, to which others are linked. Null and `status` if the driver
/// refuses.
template <class Api>
NativeEvent<Api>* StreamLinks<Api>::end_of(Stream<Api>& main, typename Api::Status* status) noexcept {
  *status = Api::kSuccess;
  const StreamPoint<Api> point = order_.now(main);
  if (main.end.event != nullptr && main.end.tail == point.tail && main.end.epoch == order_.ends_epoch()) {
    return main.end.event;
  }
  NativeEvent<Api>* event = events_.take(main.context, status);
  if (event == nullptr) {
    return nullptr;
  }
  *status = Api::record_event(driver_, event->handle, main.handle);
  if (*status != Api::kSuccess) {
    events_.release(*event);
    return nullptr;
  }
  keep_end_of(main, *event, point);
  return event;
}

/// The newest end of what `stream` holds. Takes over the caller's reference.
template <class Api>
void StreamLinks<Api>::keep_end_of(Stream<Api>& stream, NativeEvent<Api>& event,
                                   const StreamPoint<Api>& point) noexcept {
  keep_own(&stream.end, event, point);
  for (Stream<Api>* other : stream.followers) {
    keep_end_for(*other, stream);
  }
}

/// The first end behind the graph that `other` is behind. An end's place was asked for before its event was recorded:
/// if it is not before the graph's, the graph was launched by then.
template <class Api>
void StreamLinks<Api>::keep_end_for(Stream<Api>& other, const Stream<Api>& main) noexcept {
  if (other.behind_end.event == nullptr && main.end.event != nullptr && main.end.tail >= other.behind_tail) {
    main.end.event->references.fetch_add(1, std::memory_order_relaxed);
    other.behind_end = main.end;
  }
}

template <class Api>
void StreamLinks<Api>::keep(GraphEnd<Api>* end, NativeEvent<Api>& event, const StreamPoint<Api>& point) noexcept {
  event.references.fetch_add(1, std::memory_order_relaxed);
  keep_own(end, event, point);
}

/// Takes over the caller's reference.
template <class Api>
void StreamLinks<Api>::keep_own(GraphEnd<Api>* end, NativeEvent<Api>& event, const StreamPoint<Api>& point) noexcept {
  release(end);
  *end = {&event, point.tail, order_.ends_epoch(), order_.event_ends_epoch()};
  any_end_.store(true, std::memory_order_release);
}

template <class Api>
void StreamLinks<Api>::release(GraphEnd<Api>* end) noexcept {
  if (NativeEvent<Api>* event = std::exchange(end->event, nullptr); event != nullptr) {
    events_.release(*event);
  }
}

template <class Api>
void StreamLinks<Api>::drop(GraphEnd<Api>* end) noexcept {
  if (any_end()) {
    const std::lock_guard guard(mutex_);
    release(end);
  }
}

template <class Api>
bool StreamLinks<Api>::is_done(const GraphEnd<Api>& end) noexcept {
  return end.event != nullptr && Api::query_event(driver_, end.event->handle) == Api::kSuccess;
}

template <class Api>
bool StreamLinks<Api>::only_ends_left(Stream<Api>& stream) noexcept {
  if (!any_end()) {
    return false;
  }
  const std::lock_guard guard(mutex_);
  return stream.end.tail == order_.now(stream).tail && stream.end.epoch == order_.ends_epoch() && is_done(stream.end);
}

template <class Api>
bool StreamLinks<Api>::done(const GraphEnd<Api>& end) noexcept {
  if (!any_end()) {
    return false;
  }
  const std::lock_guard guard(mutex_);
  return end.event_epoch == order_.event_ends_epoch() && is_done(end);
}

template <class Api>
void StreamLinks<Api>::unlink(Stream<Api>& main, Stream<Api>& other) noexcept {
  other.behind = nullptr;
  release(&other.behind_end);
  other.linked.store(!other.followers.empty(), std::memory_order_release);
  std::erase(main.followers, &other);
  if (main.followers.empty()) {
    std::erase(leaders_, &main);
    main.linked.store(main.behind != nullptr, std::memory_order_release);
  }
  links_.fetch_sub(1, std::memory_order_relaxed);
}

template <class Api>
void StreamLinks<Api>::settle_linked(Stream<Api>& stream) noexcept {
  const std::lock_guard guard(mutex_);
  if (Stream<Api>* main = stream.behind; main != nullptr) {
    join(*main, stream);
    unlink(*main, stream);
  }
  settle_followers(stream);
}

template <class Api>
void StreamLinks<Api>::settle_followers(Stream<Api>& stream) noexcept {
  while (!stream.followers.empty()) {
    Stream<Api>& other = *stream.followers.back();
    join(stream, other);
    unlink(stream, other);
  }
}

template <class Api>
[[gnu::hot]] void StreamLinks<Api>::settle_for(Stream<Api>& main, Streams others) noexcept {
  if (!any()) {
    return;
  }
  const std::lock_guard guard(mutex_);
  if (Stream<Api>* before = main.behind; before != nullptr) {
    join(*before, main);
    unlink(*before, main);
  }
  // Who is linked to this stream and has no part in the graph would wait for it.
  for (std::size_t i = main.followers.size(); i > 0; --i) {
    Stream<Api>& other = *main.followers[i - 1];
    if (std::find(others.begin(), others.end(), &other) == others.end()) {
      join(main, other);
      unlink(main, other);
    }
  }
  for (Stream<Api>* other : others) {
    if (Stream<Api>* before = other->behind; before != nullptr && before != &main) {
      join(*before, *other);
      unlink(*before, *other);
    }
  }
}

template <class Api>
const Stream<Api>* StreamLinks<Api>::leader_of(const Stream<Api>& home, Streams others) noexcept {
  if (!home.linked.load(std::memory_order_acquire)) {
    return &home;
  }
  const std::lock_guard guard(mutex_);
  const Stream<Api>* const leader = home.behind;
  const auto suits = [leader](const Stream<Api>* other) { return other == leader || holds_all_of(*other, *leader); };
  const bool member = leader != nullptr && std::find(others.begin(), others.end(), leader) != others.end();
  return member && suits(&home) && std::all_of(others.begin(), others.end(), suits) ? leader : &home;
}

template <class Api>
void StreamLinks<Api>::settle_every_link() noexcept {
  const std::lock_guard guard(mutex_);
  while (!leaders_.empty()) {
    Stream<Api>& main = *leaders_.back();
    Stream<Api>& other = *main.followers.back();
    join(main, other);
    unlink(main, other);
  }
}

template <class Api>
Stream<Api>& StreamLinks<Api>::recording_place(Stream<Api>& stream, NativeEvent<Api>* known,
                                               GraphEnd<Api>* end) noexcept {
  const bool linked = stream.linked.load(std::memory_order_acquire);
  if (!linked && known == nullptr) {
    drop(end);
    return stream;
  }
  const std::lock_guard guard(mutex_);
  if (Stream<Api>* const main = stream.behind; main != nullptr && !holds_all_of(stream, *main)) {
    join(*main, stream);
    unlink(*main, stream);
  }
  Stream<Api>& place = stream.behind != nullptr ? *stream.behind : stream;
  const StreamPoint<Api> point = order_.now(place);
  typename Api::Status status = Api::kSuccess;
  if (known == nullptr) {
    known = end_of(place, &status);
  }
  if (known != nullptr) {
    keep(end, *known, point);
  } else {
    release(end);
  }
  return place;
}

template <class Api>
void StreamLinks<Api>::forget(Stream<Api>& stream) noexcept {
  const std::lock_guard guard(mutex_);
  if (stream.behind != nullptr) {
    unlink(*stream.behind, stream);
  }
  while (!stream.followers.empty()) {
    unlink(stream, *stream.followers.back());
  }
  release(&stream.end);
}

}  // namespace refrain::backends
