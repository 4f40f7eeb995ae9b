// A lock that a driver cannot keep from the program.
#pragma once

#include "env/mutex.h"
#include "env/stuck_check.h"

namespace refrain::backends {

/// A mutex that the thread which makes graphs holds while it calls the driver. Should the driver never return, others
/// get it all the same: that thread goes nowhere from there. Thread-safe.
class REFRAIN_CAPABILITY("mutex") RecordingLock {
 public:
  explicit RecordingLock(env::StuckCheck& maker) noexcept : maker_(maker) {}
  RecordingLock(const RecordingLock&) = delete;
  RecordingLock& operator=(const RecordingLock&) = delete;

  void lock() noexcept REFRAIN_ACQUIRE() {
    maker_.goes_on();
    env::UniqueLock lock(mutex_);
    while (others_ || (makers_ && !maker_.stuck())) {
      changed_.wait_for(lock, env::StuckCheck::kAsk);
    }
    (maker_.is_caller() ? makers_ : others_) = true;
  }
  void unlock() noexcept REFRAIN_RELEASE() {
    maker_.goes_on();
    const env::MutexLock guard(mutex_);
    (maker_.is_caller() ? makers_ : others_) = false;
    changed_.notify_all();
  }

 private:
  env::StuckCheck& maker_;
  env::Mutex mutex_;
  env::ConditionVariable changed_;
  bool makers_ REFRAIN_GUARDED_BY(mutex_) = false;  ///< who has it
  bool others_ REFRAIN_GUARDED_BY(mutex_) = false;
};

}  // namespace refrain::backends
