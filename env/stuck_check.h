// Whether a driver keeps a thread of Refrain's own.
//
// A driver may never return from a call that Refrain makes by itself: to make a graph, or to give one back. Nothing
// that the program does may wait for that, nor its end.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "env/mutex.h"

namespace refrain::env {

/// Of one thread of Refrain's own. Thread-safe.
class StuckCheck {
 public:
  /// A call that takes longer is taken for one that never returns. Chosen: those that make graphs of thousands of nodes
  /// return long before. Waiting for the device is no such call: a kernel may run for any time.
  static constexpr std::chrono::seconds kLongest{5};  // limit
  /// So often who waits for the thread is to ask.
  static constexpr std::chrono::milliseconds kAsk{50};  // limit

  /// `what`: from which calls, and what follows, for the log; static lifetime.
  explicit StuckCheck(const char* what) noexcept : what_(what) {}
  StuckCheck(const StuckCheck&) = delete;
  StuckCheck& operator=(const StuckCheck&) = delete;

  /// The thread's: it begins something in which it calls the driver. Neither this nor what follows returns once it was
  /// given up: who did went on as if there were no such thread.
  void begins() noexcept {
    thread_.store(pthread_self(), std::memory_order_relaxed);
    enter(now_ns());
  }
  /// The thread's: a call has returned, and it is about to go on. Nothing where it has not begun.
  void goes_on() noexcept {
    if (is_caller()) {
      enter(now_ns());
    }
  }
  /// The thread's: it calls no more.
  void ends() noexcept { enter(0); }

  /// From begins() to ends().
  class [[nodiscard]] Calls {
   public:
    explicit Calls(StuckCheck& check) noexcept : check_(check) { check.begins(); }
    ~Calls() { check_.ends(); }
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;

   private:
    StuckCheck& check_;
  };

  /// True for the thread itself, between begins() and ends().
  [[nodiscard]] bool is_caller() const noexcept {
    return since_.load(std::memory_order_relaxed) != 0 &&
           pthread_equal(pthread_self(), thread_.load(std::memory_order_relaxed)) != 0;
  }

  /// True if it has been in one call for kLongest: it is given up then, for good. Whoever hears this first says so in
  /// the log.
  [[nodiscard]] bool stuck() noexcept;
  /// Waits until `done`, which REFRAIN_REQUIRES() the lock, or until the thread is stuck: false then. What it was to do
  /// is not done, and it is not to be joined.
  template <class Done>
  [[nodiscard]] bool wait(ConditionVariable& changed, UniqueLock& lock, Done done) {
    awaited_.fetch_add(1, std::memory_order_relaxed);
    bool is_done = false;
    while (!is_done && !stuck()) {
      is_done = changed.wait_for(lock, kAsk, done);
    }
    awaited_.fetch_sub(1, std::memory_order_relaxed);
    return is_done;
  }
  /// The thread's: somebody waits for it. Nothing is to be begun that may take long, and nothing waited for that is the
  /// device's.
  [[nodiscard]] bool awaited() const noexcept { return awaited_.load(std::memory_order_relaxed) != 0; }
  /// True if stuck() ever was. One relaxed load.
  [[nodiscard]] bool given_up() const noexcept { return since_.load(std::memory_order_relaxed) == kGivenUp; }

 private:
  static constexpr std::int64_t kGivenUp = -1;
  [[nodiscard]] static std::int64_t now_ns() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  }
  void enter(std::int64_t since) noexcept;

  const char* const what_;
  std::atomic<pthread_t> thread_{};
  std::atomic<std::int64_t> since_{0};     ///< ns of the clock; 0: it calls nothing
  std::atomic<std::uint32_t> awaited_{0};  ///< by so many
};

}  // namespace refrain::env
