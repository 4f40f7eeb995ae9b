// Keeps every thread from submitting for a moment.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "env/mutex.h"
#include "env/stuck_check.h"

namespace refrain::backends {

/// Who submits has a place and is inside while it calls the driver. Thread-safe; a place is used by one thread at a
/// time.
class SubmissionPause {
 public:
  struct Place {
    std::atomic<bool> inside{false};
  };

  /// `closer`: of the thread that closes. Should the driver never return to it, nobody waits any more.
  explicit SubmissionPause(env::StuckCheck& closer) noexcept : closer_(closer) {}

  /// Before any use of the place, and after the last. add() may throw std::bad_alloc.
  void add(Place& place);
  void remove(Place& place) noexcept;

  /// Before the driver is called. Waits while nobody may submit, at most for kLongest each time.
  void enter(Place& place) noexcept {
    place.inside.store(true, std::memory_order_seq_cst);
    if (closed(turn_.load(std::memory_order_seq_cst))) [[unlikely]] {
      wait(place);
    }
  }
  /// After it. Leaving twice does nothing.
  static void leave(Place& place) noexcept { place.inside.store(false, std::memory_order_release); }

  /// Nobody begins to submit until open(). True once nobody is inside; false if somebody still is after `patience`. One
  /// thread at a time closes, and opens again.
  [[nodiscard]] bool close(std::chrono::microseconds patience) noexcept;
  void open() noexcept { turn_.fetch_add(1, std::memory_order_release); }

 private:
  static constexpr std::chrono::milliseconds kLongest{20};
  void wait(Place& place) noexcept;
  [[nodiscard]] bool anybody_inside() noexcept;

  [[nodiscard]] static bool closed(std::uint32_t turn) noexcept { return turn % 2 != 0; }

  env::StuckCheck& closer_;
  std::atomic<std::uint32_t> turn_{0};  ///< counts closing and opening
  env::Mutex mutex_;
  std::vector<Place*> places_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::backends
