#include "replay/runtime/watchdog.h"

#include <algorithm>
#include <chrono>

#include "replay/runtime/clock.h"
#include "replay/runtime/machine.h"

namespace refrain::replay {

namespace {
// limit: the time of so many looks goes by with nothing held before the thread goes to sleep; waking it again costs
// microseconds.
constexpr std::uint64_t kIdleLooks = 14;
}  // namespace

Watchdog::Watchdog(std::uint64_t limit_ns, std::uint64_t rest_ns, Check check)
    : due_ns_(limit_ns / 4 * 3), look_ns_(std::min(due_ns_, rest_ns / 4)), check_(std::move(check)) {}

Watchdog::~Watchdog() {
  stop();
}

bool Watchdog::start() noexcept {
  const env::MutexLock guard(mutex_);
  if (stopping_ || thread_.running() || !starts_threads()) {
    return true;
  }
  return thread_.start<&Watchdog::run>("refrain-watch", *this, env::OwnThread::Stack::kPrograms);
}

void Watchdog::wake() noexcept {
  const env::MutexLock guard(mutex_);
  awake_.store(true, std::memory_order_seq_cst);
  changed_.notify_all();
}

void Watchdog::hurry() noexcept {
  if (hurries()) {
    return;
  }
  const env::MutexLock guard(mutex_);
  hurries_.store(true, std::memory_order_relaxed);
  changed_.notify_all();
}

void Watchdog::run() noexcept {
  std::uint64_t sleep_ns = due_ns_;  // what begins to be held meanwhile is not due before
  std::uint64_t idle_ns = 0;
  env::UniqueLock lock(mutex_);
  while (!stopping_) {
    if (!awake_.load(std::memory_order_relaxed)) {
      changed_.wait(lock);
      continue;
    }
    sleep_ns = hurries() ? std::min(sleep_ns, look_ns_) : sleep_ns;
    changed_.wait_for(lock, std::chrono::nanoseconds(sleep_ns));
    lock.unlock();
    const std::uint64_t since = look();
    const std::uint64_t age = since == 0 ? 0 : now_ns() - since;
    idle_ns = since != 0 ? 0 : idle_ns + sleep_ns;
    sleep_ns = std::max(due_ns_ - std::min(age, due_ns_), due_ns_ / 16);
    lock.lock();
    if (idle_ns >= kIdleLooks * due_ns_) {
      idle_ns = 0;
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
  return check_(now_ns() - due_ns_, hurries());
}

void Watchdog::stop(bool waits) noexcept {
  {
    const env::MutexLock guard(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (!waits) {
    thread_.leave();
  }
  thread_.join();
}

void Watchdog::abandon_thread() noexcept {
  stopping_ = true;
  thread_.forget();
}

}  // namespace refrain::replay
