// Native events behind backends::Event: Refrain's own, which are used again, and the application's, which
// are only named.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/backend.h"
#include "backends/cuda/driver_api.h"

namespace refrain::backends {

struct CudaEvent {
  CUevent handle = nullptr;
  CUcontext context = nullptr;
  bool owned = false;       ///< by the pool
  std::uint64_t epoch = 0;  ///< of the pool, when it was made
  std::atomic<std::uint32_t> references{1};

  [[nodiscard]] static CudaEvent& of(Event event) noexcept { return *reinterpret_cast<CudaEvent*>(event); }
  [[nodiscard]] Event as_event() noexcept { return reinterpret_cast<Event>(this); }
};

/// Thread-safe.
class EventPool {
 public:
  explicit EventPool(const CudaDriver& driver) noexcept : driver_(driver) {}
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// An event without timing in `context`, which must be current. One reference. Null and `error` if the
  /// driver has none left.
  CudaEvent* take(CUcontext context, CUresult* error) noexcept;
  /// Names an event of the application. One reference. Null if there is no memory.
  static CudaEvent* borrow(CUevent handle) noexcept;
  void release(CudaEvent& event) noexcept;
  /// A context goes away, and its events with it (null: all).
  void context_gone(CUcontext context) noexcept;

 private:
  const CudaDriver& driver_;
  std::mutex mutex_;
  std::vector<CudaEvent*> free_;
  std::uint64_t epoch_ = 0;  ///< number of contexts that went: events of theirs may still be out
};

}  // namespace refrain::backends
