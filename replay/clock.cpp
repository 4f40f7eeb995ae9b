#include "replay/clock.h"

#include <time.h>

#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace refrain::replay {
namespace {

std::uint64_t monotonic_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(time.tv_nsec);
}

#if defined(__x86_64__)

bool constant_rate() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8U)) != 0;
}

/// Counter and clock read at the first use, and the rate once it is known (2^32 × ns per tick).
struct Calibration {
  std::uint64_t ticks = __rdtsc();
  std::uint64_t ns = monotonic_ns();
  bool usable = constant_rate();
};

const Calibration& calibration() noexcept {
  static const Calibration first;
  return first;
}

std::atomic<std::uint64_t> rate{0};
constexpr std::uint64_t kCalibrationNs = 5'000'000;

std::uint64_t slow_now() noexcept {
  const Calibration& start = calibration();
  const std::uint64_t ticks = __rdtsc();
  const std::uint64_t ns = monotonic_ns();
  if (start.usable && ns - start.ns > kCalibrationNs && ticks > start.ticks) {
    rate.store(static_cast<std::uint64_t>((static_cast<__uint128_t>(ns - start.ns) << 32U) / (ticks - start.ticks)),
               std::memory_order_relaxed);
  }
  return ns;
}

#endif

}  // namespace

[[gnu::hot]] std::uint64_t now_ns() noexcept {
#if defined(__x86_64__)
  const std::uint64_t known = rate.load(std::memory_order_relaxed);
  if (known == 0) {
    return slow_now();
  }
  const Calibration& start = calibration();
  return start.ns + static_cast<std::uint64_t>((static_cast<__uint128_t>(__rdtsc() - start.ticks) * known) >> 32U);
#else
  return monotonic_ns();
#endif
}

}  // namespace refrain::replay
