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
//   create_event … destroy_graph    one call of the driver each; Refrain's own, which leave no trace in what the
//                                   program can ask (HIP keeps the last error of a thread)
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "capture/operation.h"

namespace refrain::backends {

enum class StreamKind : std::uint8_t {
  kNonBlocking,
  kBlocking,   ///< in order with the legacy default stream of its context
  kLegacy,     ///< the legacy default stream: waits for all blocking streams, and they for it
  kPerThread,  ///< a thread's own default stream: only that thread can name it
};

template <class Api>
struct NativeEvent;

/// The end of a graph, or of other held work, that something else may wait for. Where it is done, whatever follows it
/// in a stream and is of Refrain's making, waits and records of events, has nothing left to wait for: the program may
/// have seen it done, by something else, and must not be told that an event or a stream is not ready.
template <class Api>
struct GraphEnd {
  NativeEvent<Api>* event = nullptr;  ///< directly behind the work, before any event of the program; one reference
  std::uint64_t tail = 0;             ///< of the stream: its newest submission is the work, or the wait for it
  std::uint64_t epoch = 0;            ///< see StreamOrder::epoch()
};

/// Never freed, so that a graph that outlives its stream finds `id` changed, not freed memory.
/// capture::QueueInfo::handle and OperationHeader::queue_handle are its address.
template <class Api>
struct Stream {
  std::atomic<capture::ObjectId> id{0};    ///< 0: the application destroyed it
  typename Api::StreamHandle handle = {};  ///< for the functions that take default streams of no thread
  typename Api::ContextHandle context = Api::kNoContext;
  int priority = 0;
  StreamKind kind = StreamKind::kNonBlocking;
  std::atomic<std::uint64_t> tail{0};  ///< submissions so far

  [[nodiscard]] static Stream& of(capture::Handle handle) noexcept { return *reinterpret_cast<Stream*>(handle); }

  struct After {
    const Stream* stream = nullptr;
    std::uint64_t tail = 0;
    std::uint64_t epoch = 0;
  };
  std::mutex after_mutex;
  std::array<After, 8> after{};  ///< what the newest work of this stream comes after; oldest entry is replaced
  std::uint32_t next_after = 0;

  // See stream_links.h; guarded by its lock, except `linked`.
  std::atomic<bool> linked{false};  ///< behind another stream, or others are behind this one
  Stream* behind = nullptr;         ///< the next work has to wait for the newest graph of that stream
  std::vector<Stream*> followers;   ///< streams that are behind this one
  GraphEnd<Api> end;                ///< of the newest work that has one
};

/// A point in a stream, as an event keeps it.
template <class Api>
struct StreamPoint {
  const Stream<Api>* stream = nullptr;
  std::uint64_t tail = 0;
};

/// Thread-safe.
template <class Api>
class StreamOrder {
 public:
  static void submitted(Stream<Api>& stream) noexcept { stream.tail.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] static StreamPoint<Api> now(const Stream<Api>& stream) noexcept {
    return {&stream, stream.tail.load(std::memory_order_relaxed)};
  }
  /// The newest work of `stream` comes after `point`.
  void waits_for(Stream<Api>& stream, const StreamPoint<Api>& point) noexcept;
  /// True if everything submitted to `other` is known to come before the newest work of `stream`.
  [[nodiscard]] bool covers(Stream<Api>& stream, const Stream<Api>& other) noexcept;
  /// Something unknown may have submitted work anywhere: nothing is known any more.
  void forget() noexcept { epoch_.fetch_add(1, std::memory_order_relaxed); }
  /// Changes with every forget().
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> epoch_{1};
};

template <class Api>
void StreamOrder<Api>::waits_for(Stream<Api>& stream, const StreamPoint<Api>& point) noexcept {
  if (point.stream == nullptr || point.stream == &stream) {
    return;
  }
  const std::lock_guard guard(stream.after_mutex);
  typename Stream<Api>::After* place = nullptr;
  for (auto& known : stream.after) {
    if (known.stream == point.stream) {
      place = &known;
      break;
    }
  }
  if (place == nullptr) {
    place = &stream.after[stream.next_after++ % stream.after.size()];
  }
  *place = {point.stream, point.tail, epoch_.load(std::memory_order_relaxed)};
}

template <class Api>
bool StreamOrder<Api>::covers(Stream<Api>& stream, const Stream<Api>& other) noexcept {
  const std::uint64_t epoch = epoch_.load(std::memory_order_relaxed);
  const std::uint64_t tail = other.tail.load(std::memory_order_relaxed);
  const std::lock_guard guard(stream.after_mutex);
  for (const auto& known : stream.after) {
    if (known.stream == &other) {
      return known.tail == tail && known.epoch == epoch;
    }
  }
  return false;
}

}  // namespace refrain::backends
