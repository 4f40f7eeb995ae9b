// Submits held work in time even if the application never calls again (promise 3).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace refrain::replay {

/// A thread that sleeps while nothing is held, and otherwise looks four times per hold limit. Costs
/// the submitting thread one relaxed load when it begins to hold.
class Watchdog {
 public:
  /// `check` is called from the watchdog's thread; it flushes lanes that held since before
  /// `oldest_ns` (see now_ns) and returns whether anything is held still.
  Watchdog(std::uint64_t limit_ns, std::function<bool(std::uint64_t oldest_ns)> check);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Something begins to be held.
  void arm() noexcept {
    if (!awake_.load(std::memory_order_seq_cst)) {
      wake();
    }
  }
  void stop() noexcept;
  /// What the thread does four times per hold limit while something is held; for where it does not run (see
  /// machine.h). Returns whether anything is held still.
  bool look() noexcept;
  /// In a forked child the thread does not exist.
  void abandon_thread() noexcept;

 private:
  void wake() noexcept;
  void run() noexcept;

  const std::uint64_t limit_ns_;
  const std::function<bool(std::uint64_t)> check_;
  std::atomic<bool> awake_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace refrain::replay
