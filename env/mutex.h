// The standard's locks, as clang's thread-safety analysis can check their use: those of libstdc++ are not annotated.
// Nothing but calls that are inlined.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "env/thread_annotations.h"

namespace refrain::env {

class REFRAIN_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() REFRAIN_ACQUIRE() { mutex_.lock(); }
  void unlock() REFRAIN_RELEASE() { mutex_.unlock(); }

 private:
  friend class UniqueLock;
  std::mutex mutex_;
};

class REFRAIN_CAPABILITY("mutex") RecursiveMutex {
 public:
  RecursiveMutex() = default;
  RecursiveMutex(const RecursiveMutex&) = delete;
  RecursiveMutex& operator=(const RecursiveMutex&) = delete;
  void lock() REFRAIN_ACQUIRE() { mutex_.lock(); }
  void unlock() REFRAIN_RELEASE() { mutex_.unlock(); }

 private:
  std::recursive_mutex mutex_;
};

class REFRAIN_CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;
  void lock() REFRAIN_ACQUIRE() { mutex_.lock(); }
  void unlock() REFRAIN_RELEASE() { mutex_.unlock(); }
  void lock_shared() REFRAIN_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() REFRAIN_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

/// Holds any of them, or a lock of ours, for a scope.
template <class Lock>
class REFRAIN_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Lock& mutex) REFRAIN_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() REFRAIN_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Lock& mutex_;
};

/// The same with others that only read.
class REFRAIN_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) REFRAIN_ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  ~SharedLock() REFRAIN_RELEASE() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

/// Can be given back and taken again within the scope.
class REFRAIN_SCOPED_CAPABILITY UniqueLock {
 public:
  explicit UniqueLock(Mutex& mutex) REFRAIN_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~UniqueLock() REFRAIN_RELEASE() = default;
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;
  void lock() REFRAIN_ACQUIRE() { lock_.lock(); }
  void unlock() REFRAIN_RELEASE() { lock_.unlock(); }

 private:
  friend class ConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

/// Who waits has the lock before and after it. A predicate is a lambda that REFRAIN_REQUIRES() the lock.
class ConditionVariable {
 public:
  void wait(UniqueLock& lock) { changed_.wait(lock.lock_); }
  template <class Predicate>
  void wait(UniqueLock& lock, Predicate predicate) {
    changed_.wait(lock.lock_, predicate);
  }
  template <class Rep, class Period>
  std::cv_status wait_for(UniqueLock& lock, const std::chrono::duration<Rep, Period>& time) {
    return changed_.wait_for(lock.lock_, time);
  }
  template <class Rep, class Period, class Predicate>
  bool wait_for(UniqueLock& lock, const std::chrono::duration<Rep, Period>& time, Predicate predicate) {
    return changed_.wait_for(lock.lock_, time, predicate);
  }
  template <class Clock, class Duration, class Predicate>
  bool wait_until(UniqueLock& lock, const std::chrono::time_point<Clock, Duration>& time, Predicate predicate) {
    return changed_.wait_until(lock.lock_, time, predicate);
  }
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace refrain::env
