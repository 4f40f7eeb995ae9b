// The lock of a lane: taken and given back at every submission while something is held, by the lane's own thread, and
// very rarely by another one that flushes it.
#pragma once

#include <atomic>
#include <cstdint>

namespace refrain::replay {

/// A mutex that is given back with a plain store, which costs half of what std::mutex costs when nobody waits. Whoever
/// waits sleeps; should the one who gives it back just not see that, it sleeps a moment longer, but not for ever.
class LaneLock {
 public:
  LaneLock() = default;
  LaneLock(const LaneLock&) = delete;
  LaneLock& operator=(const LaneLock&) = delete;

  void lock() noexcept {
    if (std::uint32_t open = 0;
        !taken_.compare_exchange_strong(open, 1, std::memory_order_acquire, std::memory_order_relaxed)) [[unlikely]] {
      wait();
    }
  }
  void unlock() noexcept {
    taken_.store(0, std::memory_order_release);
    if (waiting_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      wake();
    }
  }

 private:
  void wait() noexcept;
  void wake() noexcept;

  std::atomic<std::uint32_t> taken_{0};
  std::atomic<std::uint32_t> waiting_{0};
};

}  // namespace refrain::replay
