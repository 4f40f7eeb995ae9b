// The locks of env/mutex.h, of which GenMC knows what they do.
#pragma once
#include <pthread.h>

#include "env/thread_annotations.h"

namespace refrain::env {
class Mutex {
 public:
  Mutex() { pthread_mutex_init(&mutex_, nullptr); }
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};
class MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};
class ConditionVariable {};
}  // namespace refrain::env
