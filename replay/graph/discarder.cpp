#include "replay/graph/discarder.h"

#include <utility>

#include "replay/runtime/machine.h"

namespace refrain::replay {

bool Discarder::start() noexcept {
  if (stopping_ || !starts_threads()) {
    return false;
  }
  return thread_.running() || thread_.start<&Discarder::run>("refrain-discard", *this);
}

namespace {
/// Nobody asks the driver.
void lose(Discarder::Buffers buffers) noexcept {
  for (auto& buffer : buffers) {
    static_cast<void>(buffer.release());
  }
}
}  // namespace

void Discarder::discard(Buffers buffers) noexcept {
  std::erase(buffers, nullptr);
  if (buffers.empty()) {
    return;
  }
  try {
    if (forked_.load(std::memory_order_relaxed)) {
      return lose(std::move(buffers));
    }
    env::UniqueLock lock(mutex_);
    if (start()) {
      waiting_.push_back(std::move(buffers));
      const std::uint64_t mine = ++asked_;
      changed_.notify_all();
      static_cast<void>(check_.wait(changed_, lock, [&]() REFRAIN_REQUIRES(mutex_) { return done_ >= mine; }));
      return;
    }
  } catch (...) {
    // No memory for the list.
  }
  if (check_.given_up()) {
    lose(std::move(buffers));
  }
}

void Discarder::look_again() noexcept {
  if (forked_.load(std::memory_order_relaxed)) {
    return;
  }
  const env::MutexLock guard(mutex_);
  if (thread_.running() && !check_.given_up()) {
    looks_again_ = true;
    changed_.notify_all();
  }
}

void Discarder::run() noexcept {
  env::UniqueLock lock(mutex_);
  while (true) {
    if (waiting_.empty() && !looks_again_) {
      if (stopping_) {
        ended_ = true;
        changed_.notify_all();
        return;
      }
      changed_.wait(lock);
      continue;
    }
    Buffers buffers;
    const bool given = !waiting_.empty();
    if (given) {
      buffers = std::move(waiting_.front());
      waiting_.pop_front();
    }
    looks_again_ = false;
    lock.unlock();
    {
      const env::StuckCheck::Calls calls(check_);
      for (auto& buffer : buffers) {
        buffer.reset();
        check_.goes_on();
      }
      backend_.give_back();
    }
    lock.lock();
    done_ += given ? 1 : 0;
    changed_.notify_all();
  }
}

void Discarder::stop() noexcept {
  env::UniqueLock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  if (thread_.running() && !check_.wait(changed_, lock, [&]() REFRAIN_REQUIRES(mutex_) { return ended_; })) {
    thread_.leave();
  }
  lock.unlock();
  thread_.join();
}

void Discarder::abandon_thread() noexcept {
  forked_.store(true);
  thread_.forget();
}

}  // namespace refrain::replay
