// The lock of what nearly always one thread uses: of a lane, which its own thread takes at every submission while
// something is held, and very rarely another one that flushes it; of a graph's entry, which builders want now and then.
#pragma once

#include <atomic>
#include <cstdint>

#include "env/thread_annotations.h"

namespace refrain::replay {

/// A mutex that is given back with a plain store, which costs half of what std::mutex costs when nobody waits. Whoever
/// waits sleeps; should the one who gives it back just not see that, it sleeps a moment longer, but not for ever.
class REFRAIN_CAPABILITY("mutex") OwnerLock {
 public:
  OwnerLock() = default;
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;

  void lock() noexcept REFRAIN_ACQUIRE() {
    if (std::uint32_t open = 0;
        !taken_.compare_exchange_strong(open, 1, std::memory_order_acquire, std::memory_order_relaxed)) [[unlikely]] {
      wait();
    }
  }
  void unlock() noexcept REFRAIN_RELEASE() {
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
