// A thread that acts when it is told to, while the one that told it stands still.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "test/portable/device.h"

namespace portable {

/// Used by one thread.
class SecondThread {
 public:
  explicit SecondThread(Device& device) : thread_([this, &device] { run(device); }) {}
  ~SecondThread() {
    act(nullptr);
    thread_.join();
  }
  SecondThread(const SecondThread&) = delete;
  SecondThread& operator=(const SecondThread&) = delete;

  /// Returns when it has done `what`.
  void act(std::function<void()> what) {
    what_ = std::move(what);
    told_.store(true, std::memory_order_release);
    told_.notify_all();
    told_.wait(true, std::memory_order_acquire);
  }

 private:
  void run(Device& device) {
    device.enter_thread();
    for (bool ends = false; !ends;) {
      told_.wait(false, std::memory_order_acquire);
      ends = what_ == nullptr;
      if (!ends) {
        what_();
      }
      told_.store(false, std::memory_order_release);
      told_.notify_all();
    }
  }

  std::function<void()> what_;
  std::atomic<bool> told_{false};
  std::thread thread_;
};

}  // namespace portable
