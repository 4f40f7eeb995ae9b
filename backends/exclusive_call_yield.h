// Lets a call into the driver through that has to wait for all others to be out of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

#include "env/mutex.h"

namespace refrain::backends {

/// Some calls need the driver for themselves, and the driver lets launches pass before them: instantiating a graph
/// takes thousands of times as long while many threads launch without a pause. The same goes for creating streams and
/// events, allocating, and destroying executable graphs (docs/decisions/0005-builds-get-the-right-of-way.md). So who
/// makes such a call claims the right of way, and if it takes too long for one that is running, launches wait for its
/// end: not longer than the driver would have them wait, had it let the call in.
///
/// Nobody waits longer than kLongest at a time. Where that was in vain, it is tried again after twice as long, and
/// so on: a call that something else holds up costs each thread less and less. Thread-safe.
class ExclusiveCallYield {
 public:
  using Clock = std::chrono::steady_clock;
  /// After this a call is taken for one that is not let in. One that is in takes less than that for 128 kernels.
  static constexpr std::chrono::microseconds kPatience{300};
  static constexpr std::chrono::microseconds kLongest{200};

  /// For the time of a call. Claims may overlap.
  class Claim {
   public:
    explicit Claim(ExclusiveCallYield& right) noexcept : right_(right) { right_.claim(); }
    ~Claim() { right_.end(); }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    ExclusiveCallYield& right_;
  };

  /// To be asked before anything is submitted: true if yield_to() might wait.
  [[nodiscard]] bool claimed() const noexcept { return wanted_from_.load(std::memory_order_relaxed) != kNever; }
  /// To be called before anything is submitted. Returns for how many nanoseconds it waited, mostly 0.
  std::uint64_t yield_to() noexcept { return claimed() ? yield_to_claim() : 0; }
  /// In nanoseconds, all calls of yield_to() together.
  [[nodiscard]] std::uint64_t given_ns() const noexcept { return given_ns_.load(std::memory_order_relaxed); }

 private:
  using Ticks = Clock::rep;
  static constexpr Ticks kNever = std::numeric_limits<Ticks>::max();
  friend class Claim;
  void claim() noexcept;
  void end() noexcept;
  std::uint64_t yield_to_claim() noexcept;

  /// From when on submissions wait, in the clock's ticks; changed under the lock, read without it, never twice the
  /// same.
  std::atomic<Ticks> wanted_from_{kNever};
  std::atomic<std::uint64_t> given_ns_{0};
  env::Mutex mutex_;
  env::ConditionVariable changed_;
  Clock::duration patience_ REFRAIN_GUARDED_BY(mutex_) = kPatience;  ///< of the claims that are now
  std::uint32_t claims_ REFRAIN_GUARDED_BY(mutex_) = 0;
};

}  // namespace refrain::backends
