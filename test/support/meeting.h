// Threads of tests that wait for each other: what std::counting_semaphore and std::barrier are, which GCC 10 has not.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace refrain::test {

/// Thread-safe.
class Semaphore {
 public:
  explicit Semaphore(std::ptrdiff_t count = 0) noexcept : count_(count) {}
  void release(std::ptrdiff_t times = 1) {
    const std::lock_guard guard(mutex_);
    count_ += times;
    changed_.notify_all();
  }
  void acquire() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return count_ > 0; });
    --count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::ptrdiff_t count_;
};

/// So many threads go on together, again and again. Thread-safe.
class Meeting {
 public:
  explicit Meeting(std::size_t threads) noexcept : threads_(threads) {}
  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    const std::size_t turn = turn_;
    if (++here_ == threads_) {
      here_ = 0;
      ++turn_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return turn_ != turn; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t threads_;
  std::size_t here_ = 0, turn_ = 0;
};

}  // namespace refrain::test
