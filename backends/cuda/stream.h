// A stream as every thread can name it, and what is known about the order of streams among each other.
//
// A graph that spans several streams is launched on one of them. That is only right if what the others
// hold unfinished comes before the launch anyway, so the layer tells here of everything it submits: each
// stream counts its submissions, and remembers up to which submission of others it waited.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/cuda/cuda_headers.h"
#include "capture/operation.h"

namespace refrain::backends {

enum class StreamKind : std::uint8_t {
  kNonBlocking,
  kBlocking,   ///< in order with the legacy default stream of its context
  kLegacy,     ///< the legacy default stream: waits for all blocking streams, and they for it
  kPerThread,  ///< a thread's own default stream: only that thread can name it
};

/// Never freed, so that a graph that outlives its stream finds `id` changed, not freed memory.
/// capture::QueueInfo::handle and OperationHeader::queue_handle are its address.
struct CudaStream {
  std::atomic<capture::ObjectId> id{0};  ///< 0: the application destroyed it
  CUstream handle = nullptr;             ///< for the functions without _ptsz
  CUcontext context = nullptr;
  int priority = 0;
  StreamKind kind = StreamKind::kNonBlocking;
  std::atomic<std::uint64_t> tail{0};  ///< submissions so far

  [[nodiscard]] static CudaStream& of(capture::Handle handle) noexcept {
    return *reinterpret_cast<CudaStream*>(handle);
  }

  struct After {
    const CudaStream* stream = nullptr;
    std::uint64_t tail = 0;
    std::uint64_t epoch = 0;
  };
  std::mutex after_mutex;
  std::array<After, 8> after{};  ///< what the newest work of this stream comes after; oldest entry is replaced
  std::uint32_t next_after = 0;

  // See stream_links.h; guarded by its lock, except `linked`.
  std::atomic<bool> linked{false};     ///< behind another stream, or others are behind this one
  CudaStream* behind = nullptr;        ///< the next work has to wait for the newest graph of that stream
  std::vector<CudaStream*> followers;  ///< streams that are behind this one
};

/// A point in a stream, as an event keeps it.
struct StreamPoint {
  const CudaStream* stream = nullptr;
  std::uint64_t tail = 0;
};

/// Thread-safe.
class StreamOrder {
 public:
  static void submitted(CudaStream& stream) noexcept { stream.tail.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] static StreamPoint now(const CudaStream& stream) noexcept {
    return {&stream, stream.tail.load(std::memory_order_relaxed)};
  }
  /// The newest work of `stream` comes after `point`.
  void waits_for(CudaStream& stream, const StreamPoint& point) noexcept;
  /// True if everything submitted to `other` is known to come before the newest work of `stream`.
  [[nodiscard]] bool covers(CudaStream& stream, const CudaStream& other) noexcept;
  /// Something unknown may have submitted work anywhere: nothing is known any more.
  void forget() noexcept { epoch_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> epoch_{1};
};

}  // namespace refrain::backends
