#include "replay/runtime/clock.h"

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

struct Moment {
  std::uint64_t ticks = 0, ns = 0;
};

/// Counter and clock read at the same moment: of a few tries the one that took least. The first one in a process may
/// take long, as what the system's clock looks at is not mapped yet, and any may be interrupted.
Moment moment() noexcept {
  constexpr int kTries = 4;  // limit
  Moment best;
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = __rdtsc();
    const std::uint64_t ns = monotonic_ns();
    const std::uint64_t took = __rdtsc() - before;
    if (took < least) {
      least = took;
      best = {before + took / 2, ns};
    }
  }
  return best;
}

/// Of the first use. The rate is taken from there, once it is known (2^32 × ns per tick).
struct Calibration : Moment {
  Calibration() noexcept : usable(constant_rate()) { Moment::operator=(moment()); }
  bool usable;
};

const Calibration& calibration() noexcept {
  static const Calibration first;
  return first;
}

std::atomic<std::uint64_t> rate{0};
constexpr std::uint64_t kCalibrationNs = 5'000'000;  // limit

std::uint64_t slow_now() noexcept {
  const Calibration& start = calibration();
  const auto [ticks, ns] = moment();
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
