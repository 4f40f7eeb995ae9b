// Calls of the program that wait behind all that its lane holds and that nothing else waits for: frees in stream order.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "capture/operation.h"
#include "env/mutex.h"
#include "replay/lane/lane_context.h"

namespace refrain::replay {

/// The layer's, but for what the numbers are compared by.
struct TrailingCall {
  /// Calls the driver; returns its error. Any thread, inside the lane.
  int (*make)(const TrailingCall& call) noexcept = nullptr;
  capture::Handle queue = 0;  ///< see capture::QueueInfo
  std::uint64_t group = 0;    ///< a pool of memory, say
  std::uint64_t bytes = 0;    ///< that nobody else has until it is made
  std::uint64_t what = 0;

  /// Whether both ask for the same, whatever for.
  [[nodiscard]] bool like(const TrailingCall& other) const noexcept {
    return make == other.make && queue == other.queue && group == other.group && bytes == other.bytes;
  }
};

/// While there are any, Engine::anything_held() says so. Where no thread is named,
/// any may call.
class TrailingCalls {
 public:
  explicit TrailingCalls(LaneContext& context) noexcept : context_(context) {}
  TrailingCalls(const TrailingCalls&) = delete;
  TrailingCalls& operator=(const TrailingCalls&) = delete;

  /// The lane's own thread. False: there are as many as there may be, or no memory.
  [[nodiscard]] bool add(const TrailingCall& call) noexcept;
  /// The newest one like that will not be made: true, and what it was called with. The lane's own thread.
  [[nodiscard]] bool take_back(const TrailingCall& like, std::uint64_t* what) noexcept;
  /// Makes them in their order; nothing but a verification keeps them waiting, as who needs the driver for itself may
  /// wait for one of them. Whoever has the lane's lock, or the lane's own thread: once nothing is held that they have
  /// to come behind.
  void make_all() noexcept;

  [[nodiscard]] bool any() const noexcept { return since_ns() != 0; }
  /// See now_ns(); 0: there are none.
  [[nodiscard]] std::uint64_t since_ns() const noexcept { return since_ns_.load(std::memory_order_seq_cst); }
  /// The first that was not told yet. The lane's own thread.
  [[nodiscard]] int take_error() noexcept {
    return error_.load(std::memory_order_relaxed) == 0 ? 0 : error_.exchange(0, std::memory_order_relaxed);
  }

 private:
  void none_left() noexcept REFRAIN_REQUIRES(mutex_);

  static constexpr std::size_t kMost = 128;                             // limit
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;  // limit: nobody else has them meanwhile

  LaneContext& context_;
  std::atomic<std::uint64_t> since_ns_{0};
  std::atomic<int> error_{0};
  env::Mutex mutex_;  ///< behind the lane's lock; held while the driver is called
  std::vector<TrailingCall> calls_ REFRAIN_GUARDED_BY(mutex_);
  std::uint64_t bytes_ REFRAIN_GUARDED_BY(mutex_) = 0;
};

}  // namespace refrain::replay
