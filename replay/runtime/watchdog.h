// Submits held work in time even if the application never calls again (promise 3).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "env/mutex.h"
#include "env/own_thread.h"

namespace refrain::replay {

/// A thread that sleeps while nothing is held, and otherwise until the oldest that is held is due: after three quarters
/// of the hold limit, so that it is submitted in time even if this thread comes late. Costs the submitting thread one
/// load when it begins to hold.
class Watchdog {
 public:
  /// `check` is called from the watchdog's thread; it flushes lanes that held since before `oldest_ns` (see now_ns) and
  /// returns since when anything is held still (0: nothing is). `rests`: and those that hold what they held at the last
  /// call, no more and no less.
  using Check = std::function<std::uint64_t(std::uint64_t oldest_ns, bool rests)>;
  Watchdog(std::uint64_t limit_ns, std::uint64_t rest_ns, Check check);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Before anything may be held. False if there can be no thread: then nothing may be. Thread-safe; costs a lock.
  [[nodiscard]] bool start() noexcept;
  /// Something begins to be held.
  void arm() noexcept {
    if (!awake_.load(std::memory_order_seq_cst)) {
      wake();
    }
  }
  /// From now on what is held is submitted `rest_ns` after its thread's last submission as well: somebody may wait for
  /// it, and no call shows whom. Any thread; costs a lock the first time.
  void hurry() noexcept REFRAIN_EXCLUDES(mutex_);
  [[nodiscard]] bool hurries() const noexcept { return hurries_.load(std::memory_order_relaxed); }
  /// `waits`: for the thread's end.
  void stop(bool waits = true) noexcept;
  /// What the thread does when it wakes; for where it does not run (see machine.h). Returns since when anything is held
  /// still (0: nothing is).
  std::uint64_t look() noexcept;
  /// In a forked child the thread does not exist, and may have had the lock: no lock is taken, there are no others.
  void abandon_thread() noexcept REFRAIN_NO_THREAD_SAFETY_ANALYSIS;

 private:
  void wake() noexcept REFRAIN_EXCLUDES(mutex_);
  void run() noexcept;

  const std::uint64_t due_ns_;  ///< after so long work that is held is submitted
  /// In a hurry: from one look to the next. A thread that rests shows in the second, and each may come late.
  const std::uint64_t look_ns_;
  const Check check_;
  std::atomic<bool> awake_{false};
  std::atomic<bool> hurries_{false};
  env::Mutex mutex_;
  env::ConditionVariable changed_;
  bool stopping_ REFRAIN_GUARDED_BY(mutex_) = false;
  env::OwnThread thread_;
};

}  // namespace refrain::replay
