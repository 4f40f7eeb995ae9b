// Preloaded: a clock that stands still, and a wait for a time that therefore never comes. As libraries do it that fake
// the time for a program.
#include <pthread.h>
#include <time.h>

#define TAKEN __attribute__((visibility("default")))

extern "C" {
TAKEN int clock_gettime(clockid_t /*clock*/, timespec* now) noexcept {
  *now = {1000, 5};
  return 0;
}
TAKEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t /*clock*/,
                                 const timespec* /*until*/) {
  return pthread_cond_wait(condition, mutex);
}
}
