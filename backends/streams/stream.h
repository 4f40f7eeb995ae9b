// A stream as every thread can name it, and what is known about the order of streams among each other. For APIs
// whose queues are streams and whose command buffers are graphs launched on them: CUDA and HIP.
//
// A graph that spans several streams is launched on one of them. That is only right if what the others
// hold unfinished comes before the launch anyway, so the layer tells here of everything it submits: each
// stream counts its submissions, and remembers up to which submission of others it waited.
//
// What these APIs call differently is in one structure for each (CudaApi, HipApi), the parameter of the templates:
//
//   Driver, Status, StreamHandle, ContextHandle, EventHandle, GraphHandle, NodeHandle, ExecHandle
//   kSuccess, kNotReady, kOutOfMemory, kInvalidHandle, kNotSupported, kCaptureWrongThread, kCaptureUnmatched  (Status)
//   kNoContext                                                            "none", where all are meant: "any"
//   number_of(context)              the same number for the same context
//   Scope(driver, context)          makes a context current while it lives; status()
//   RelaxedCapture(driver)          while it lives, calls of this thread do not disturb captures of the program
//   per_thread_stream()             the calling thread's own default stream
//   create_event … destroy_graph    one call of the driver each; Refrain's own, which leave no trace in what the
//                                   program can ask (HIP keeps the last error of a thread)
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "capture/operation.h"

namespace refrain::backends {

enum class StreamKind : std::uint8_t {
  kNonBlocking,
  kBlocking,   ///< in order with the legacy default stream of its context
  kLegacy,     ///< the legacy default stream: waits for all blocking streams, and they for it
  kPerThread,  ///< a thread's own default stream: only that thread can name it (layer/streams/stand_in.h)
};

template <class Api>
struct NativeEvent;
template <class Api>
struct Stream;

/// A place in a stream: behind what had been submitted then, if `epoch` is still the same (StreamOrder). An event that
/// is recorded behind the place comes after all that; so the place is asked for before the driver is called, for other
/// threads may submit while the call lasts.
template <class Api>
struct StreamPoint {
  const Stream<Api>* stream = nullptr;
  /// One more with each submission. Only good for comparing.
  std::uint64_t tail = 0;
  std::uint64_t epoch = 0;

  friend bool operator==(const StreamPoint&, const StreamPoint&) noexcept = default;
};

/// The end of a graph, or of other held work, that something else may wait for. Where it is done, whatever follows it
/// in a stream and is of Refrain's making, waits and records of events, has nothing left to wait for: the program may
/// have seen it done, by something else, and must not be told that an event or a stream is not ready.
template <class Api>
struct GraphEnd {
  NativeEvent<Api>* event = nullptr;  ///< directly behind the work, before any event of the program; one reference
  std::uint64_t tail = 0;             ///< of the stream: its newest submission is the work, or the wait for it
  std::uint64_t epoch = 0;            ///< see StreamOrder::ends_epoch()
  std::uint64_t event_epoch = 0;      ///< see StreamOrder::event_ends_epoch()
};

/// What the newest work of a stream comes after, as far as it is remembered: up to which submission of which others.
/// Asked several times for each graph over several streams, hence without a lock. Thread-safe.
class ComesAfter {
 public:
  /// The newest work comes after submission `tail` of `other` (any address), as known in `epoch`.
  void note(const void* other, std::uint64_t tail, std::uint64_t epoch) noexcept {
    std::uint32_t before = version_.load(std::memory_order_relaxed);
    while ((before & 1U) != 0 ||
           !version_.compare_exchange_weak(before, before + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      std::this_thread::yield();  // another thread is at the stores below
      before = version_.load(std::memory_order_relaxed);
    }
    Entry* place = nullptr;
    for (Entry& known : entries_) {
      if (known.other.load(std::memory_order_relaxed) == other) {
        place = &known;
        break;
      }
    }
    if (place == nullptr) {
      place = &entries_[next_++ % entries_.size()];  // the oldest one
    }
    place->other.store(other, std::memory_order_release);
    place->tail.store(tail, std::memory_order_release);
    place->epoch.store(epoch, std::memory_order_release);
    version_.store(before + 2, std::memory_order_release);
  }
  /// True if exactly that was noted. While it is being changed: false, which only means that nobody knows.
  [[nodiscard]] bool knows(const void* other, std::uint64_t tail, std::uint64_t epoch) const noexcept {
    const std::uint32_t before = version_.load(std::memory_order_acquire);
    bool found = false;
    for (const Entry& known : entries_) {
      if (known.other.load(std::memory_order_acquire) == other) {
        found =
            known.tail.load(std::memory_order_acquire) == tail && known.epoch.load(std::memory_order_acquire) == epoch;
        break;
      }
    }
    return found && (before & 1U) == 0 && version_.load(std::memory_order_relaxed) == before;
  }

 private:
  struct Entry {
    std::atomic<const void*> other{nullptr};
    std::atomic<std::uint64_t> tail{0}, epoch{0};
  };
  std::atomic<std::uint32_t> version_{0};  ///< odd while an entry is being changed
  std::uint32_t next_ = 0;
  std::array<Entry, 8> entries_;
};

/// Never freed, so that a graph that outlives its stream finds `id` changed, not freed memory.
/// capture::QueueInfo::handle and OperationHeader::queue_handle are its address.
template <class Api>
struct Stream {
  std::atomic<capture::ObjectId> id{0};  ///< 0: the application destroyed it
  /// For the functions that take default streams of no thread. Of a thread's own default stream it is what stands in
  /// for it, once anything of it is held.
  typename Api::StreamHandle handle = {};
  typename Api::ContextHandle context = Api::kNoContext;
  int priority = 0;
  StreamKind kind = StreamKind::kNonBlocking;
  std::atomic<std::uint64_t> tail{0};  ///< submissions so far
  /// The layer's: what setters have set of it and around it (capture::OperationHeader::state).
  std::atomic<std::uint64_t> state{0};
  std::atomic<bool> attributes{false};  ///< it has some that are not those of a new stream

  [[nodiscard]] static Stream& of(capture::Handle handle) noexcept { return *reinterpret_cast<Stream*>(handle); }

  ComesAfter after;

  // See stream_links.h; guarded by its lock, except `linked`.
  std::atomic<bool> linked{false};    ///< behind another stream, or others are behind this one
  Stream* behind = nullptr;           ///< the next work has to wait for the newest graph of that stream
  std::uint64_t behind_tail = 0;      ///< that graph is among the first so many submissions of that stream
  GraphEnd<Api> behind_end;           ///< the first event that was recorded behind that graph, if any was
  StreamPoint<Api> before_link;       ///< that graph comes after this place
  const Stream* waits_for = nullptr;  ///< the newest wait that a link became: for this stream's graph,
  std::uint64_t wait_tail = 0;        ///< and in this place
  std::vector<Stream*> followers;     ///< streams that are behind this one
  GraphEnd<Api> end;                  ///< of the newest work that has one
};

/// Thread-safe.
template <class Api>
class StreamOrder {
 public:
  /// After the driver's call. Returns how many there are now, that one included.
  static std::uint64_t submitted(Stream<Api>& stream) noexcept {
    return stream.tail.fetch_add(1, std::memory_order_acq_rel) + 1;
  }
  /// Everything that was submitted to the stream so far.
  [[nodiscard]] StreamPoint<Api> now(const Stream<Api>& stream) const noexcept {
    const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
    return {&stream, stream.tail.load(std::memory_order_acquire), epoch};
  }
  /// The newest work of `stream` comes after `point`.
  void waits_for(Stream<Api>& stream, const StreamPoint<Api>& point) noexcept {
    if (point.stream != nullptr && point.stream != &stream) {
      stream.after.note(point.stream, point.tail, point.epoch);
    }
  }
  /// True if everything submitted to `other` is known to come before the newest work of `stream`.
  [[nodiscard]] bool covers(const Stream<Api>& stream, const Stream<Api>& other) const noexcept {
    const StreamPoint<Api> all = now(other);
    return stream.after.knows(all.stream, all.tail, all.epoch);
  }
  /// Something unknown may submit work anywhere, or has: nothing is known of the order any more. Before and after the
  /// driver's call.
  void forget() noexcept { epoch_.fetch_add(1, std::memory_order_acq_rel); }
  /// What was known to be done, because Refrain put it behind a graph, need not be any more: after a call that may
  /// have recorded events of the program, or added to streams, where nobody saw it. Not after every call that is
  /// unknown: while one thread asks for the amount of free memory, another may know, and must be told, that its work is
  /// done.
  void forget_ends() noexcept {
    forget_stream_ends();
    event_ends_epoch_.fetch_add(1, std::memory_order_acq_rel);
  }
  /// The same after a call that may have added to streams, but not have recorded events of the program.
  void forget_stream_ends() noexcept { ends_epoch_.fetch_add(1, std::memory_order_acq_rel); }
  /// From now on the program's own graphs may record events of the program.
  void graphs_record_events() noexcept { graphs_record_events_.store(true, std::memory_order_release); }
  /// After the launch of a graph of the program's own.
  void own_graph_launched() noexcept {
    if (graphs_record_events_.load(std::memory_order_acquire)) {
      forget();
      forget_ends();
    }
  }
  /// Changes with every forget_ends() and forget_stream_ends().
  [[nodiscard]] std::uint64_t ends_epoch() const noexcept { return ends_epoch_.load(std::memory_order_acquire); }
  /// Changes with every forget_ends().
  [[nodiscard]] std::uint64_t event_ends_epoch() const noexcept {
    return event_ends_epoch_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<std::uint64_t> epoch_{1}, ends_epoch_{1}, event_ends_epoch_{1};
  std::atomic<bool> graphs_record_events_{false};
};

}  // namespace refrain::backends
