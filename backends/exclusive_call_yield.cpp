#include "backends/exclusive_call_yield.h"

namespace refrain::backends {

void ExclusiveCallYield::claim() noexcept {
  const env::MutexLock guard(mutex_);
  if (++claims_ == 1) {
    patience_ = kPatience;
    wanted_from_.store((Clock::now() + patience_).time_since_epoch().count(), std::memory_order_relaxed);
  }
}

void ExclusiveCallYield::end() noexcept {
  const env::MutexLock guard(mutex_);
  if (--claims_ == 0) {
    wanted_from_.store(kNever, std::memory_order_relaxed);
    changed_.notify_all();
  }
}

std::uint64_t ExclusiveCallYield::yield_to_claim() noexcept {
  const Clock::time_point start = Clock::now();
  const Ticks wanted = wanted_from_.load(std::memory_order_relaxed);
  if (start.time_since_epoch().count() < wanted) {
    return 0;
  }
  env::UniqueLock lock(mutex_);
  const auto over = [this, wanted] { return wanted_from_.load(std::memory_order_relaxed) != wanted; };
  if (!changed_.wait_until(lock, start + kLongest, over)) {
    patience_ *= 2;
    wanted_from_.store((Clock::now() + patience_).time_since_epoch().count(), std::memory_order_relaxed);
    changed_.notify_all();
  }
  const auto given = static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - start).count());
  given_ns_.fetch_add(given, std::memory_order_relaxed);
  return given;
}

}  // namespace refrain::backends
