// Streams whose next work has to wait for a graph that was launched on another stream.
//
// A graph over several streams runs on one of them. What comes next in the others comes after it; but most of
// the time what comes next is the next graph on the same stream, and an event between two graphs costs the
// device several microseconds. So the others are only linked to that stream, and the event is recorded when
// somebody is about to submit to one of them, or anything but such a graph to the stream itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "backends/cuda/driver_api.h"
#include "backends/cuda/event_pool.h"
#include "backends/cuda/stream.h"

namespace refrain::backends {

/// Thread-safe.
class StreamLinks {
 public:
  StreamLinks(const CudaDriver& driver, EventPool& events, StreamOrder& order) noexcept
      : driver_(driver), events_(events), order_(order) {}

  /// True if any stream is linked to another: one relaxed load.
  [[nodiscard]] bool any() const noexcept { return links_.load(std::memory_order_relaxed) != 0; }

  /// A graph was launched on `main`; the next work of `others` has to wait for it.
  void link(CudaStream& main, std::span<CudaStream* const> others) noexcept;
  /// Before work that is no graph over the same streams is submitted to `stream`: its links become real waits,
  /// and so do those of streams that would wait for that work as well.
  void settle(CudaStream& stream) noexcept {
    if (stream.linked.load(std::memory_order_acquire)) [[unlikely]] {
      settle_linked(stream);
    }
  }
  /// Before a graph over `main` and `others` is launched on `main`.
  void settle_for(CudaStream& main, std::span<CudaStream* const> others) noexcept;
  /// Before anything that may look at, or submit to, any stream.
  void settle_all() noexcept {
    if (any()) [[unlikely]] {
      settle_every_link();
    }
  }
  /// Where an event that is to be recorded in `stream` can be recorded without more.
  [[nodiscard]] CudaStream& recording_place(CudaStream& stream) noexcept;
  /// A stream is destroyed, or its context: nothing is to be done for it any more.
  void forget(CudaStream& stream) noexcept;

 private:
  void settle_linked(CudaStream& stream) noexcept;
  void settle_every_link() noexcept;
  void join(CudaStream& main, CudaStream& other) noexcept;
  void unlink(CudaStream& main, CudaStream& other) noexcept;

  const CudaDriver& driver_;
  EventPool& events_;
  StreamOrder& order_;
  std::mutex mutex_;                  ///< guards CudaStream::behind and followers of all streams
  std::vector<CudaStream*> leaders_;  ///< streams that others are linked to
  std::atomic<std::uint32_t> links_{0};
};

}  // namespace refrain::backends
