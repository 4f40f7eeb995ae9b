#include "replay/runtime/watchdog.h"

#include <algorithm>
#include <chrono>

#include "replay/runtime/clock.h"
#include "replay/runtime/machine.h"

namespace refrain::replay {

namespace {
// limit: looks without anything held before the thread goes to sleep; waking it again costs microseconds.
constexpr int kIdleLooks = 14;
}  // namespace

Watchdog::Watchdog(std::uint64_t limit_ns, std::function<std::uint64_t(std::uint64_t)> check)
    : due_ns_(limit_ns / 4 * 3), check_(std::move(check)) {}

Watchdog::~Watchdog() {
  stop();
}

bool Watchdog::start() noexcept {
  const env::MutexLock guard(mutex_);
  if (stopping_ || thread_.running() || !starts_threads()) {
    return true;
  }
  if (!thread_.start<&Watchdog::run>("refrain-watch", *this)) {
    return false;
  }
  unbind(thread_.handle());
  return true;
}

void Watchdog::wake() noexcept {
  const env::MutexLock guard(mutex_);
  awake_.store(true, std::memory_order_seq_cst);
  changed_.notify_all();
}

void Watchdog::run() noexcept {
  std::uint64_t sleep_ns = due_ns_;  // what begins to be held meanwhile is not due before
  int idle = 0;
  env::UniqueLock lock(mutex_);
  while (!stopping_) {
    if (!awake_.load(std::memory_order_relaxed)) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, std::chrono::nanoseconds(sleep_ns));
    lock.unlock();
    const std::uint64_t since = look();
    const std::uint64_t age = since == 0 ? 0 : now_ns() - since;
    sleep_ns = std::max(due_ns_ - std::min(age, due_ns_), due_ns_ / 16);
    lock.lock();
    idle = since != 0 ? 0 : idle + 1;
    if (idle >= kIdleLooks) {
      idle = 0;
      awake_.store(false, std::memory_order_seq_cst);
      // Whoever began to hold before it could see that we sleep is seen here.
      lock.unlock();
      const bool again = look() != 0;
      lock.lock();
      if (again) {
        awake_.store(true, std::memory_order_seq_cst);
      }
    }
  }
}

std::uint64_t Watchdog::look() noexcept {
  return check_(now_ns() - due_ns_);
}

void Watchdog::stop(bool waits) noexcept {
  {
    const env::MutexLock guard(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (!waits) {
    thread_.forget();
  }
  thread_.join();
}

void Watchdog::abandon_thread() noexcept {
  stopping_ = true;
  thread_.forget();
}

}  // namespace refrain::replay
