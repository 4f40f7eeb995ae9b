#include "replay/runtime/owner_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace refrain::replay {
namespace {

/// limit: most holders are done within a microsecond; one that launches a graph takes several.
constexpr int kSpins = 200;
/// limit: of the delay of a sleeper whose wake-up was missed.
constexpr long kSleepNs = 50'000;

void pause_a_moment() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");  // takes about as long; `yield` does nothing on most processors
#endif
}

long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* time) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return ::syscall(SYS_futex, &word, what, value, time, nullptr, 0);
}

}  // namespace

void OwnerLock::wait() noexcept {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (taken_.load(std::memory_order_relaxed) == 0 && taken_.exchange(1, std::memory_order_acquire) == 0) {
      return;
    }
    pause_a_moment();
  }
  const int saved_errno = errno;
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  while (taken_.exchange(1, std::memory_order_acquire) != 0) {
    const timespec time{0, kSleepNs};
    futex(taken_, FUTEX_WAIT_PRIVATE, 1, &time);
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  errno = saved_errno;
}

void OwnerLock::wake() noexcept {
  const int saved_errno = errno;
  futex(taken_, FUTEX_WAKE_PRIVATE, 1, nullptr);
  errno = saved_errno;
}

}  // namespace refrain::replay
