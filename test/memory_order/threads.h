// Threads of a check.
#pragma once
#include <assert.h>
#include <pthread.h>

/// Runs in a thread of its own until join().
template <void (*work)()>
class Thread {
 public:
  Thread() {
    pthread_create(
        &thread_, nullptr,
        [](void*) -> void* {
          work();
          return nullptr;
        },
        nullptr);
  }
  void join() { pthread_join(thread_, nullptr); }

 private:
  pthread_t thread_;
};
