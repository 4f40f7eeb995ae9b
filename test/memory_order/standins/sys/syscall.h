// The kernel's futex: who waits may wake up at any time (the sleep has a limit), here at once.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>

#define SYS_futex 202
inline std::atomic<int> asleep{0}, woken{0};
template <class Time>
long syscall(long, std::atomic<std::uint32_t>* word, int what, std::uint32_t value, Time, std::nullptr_t, int) {
  if (what == 128) {
    if (word->load(std::memory_order_seq_cst) == value) {
      asleep.store(1, std::memory_order_relaxed);
#ifdef SLEEPS_FOR_GOOD
      pthread_exit(nullptr);
#endif
    }
  } else {
    woken.store(1, std::memory_order_relaxed);
  }
  return 0;
}
