#include "env/stuck_check.h"

#include <unistd.h>

#include <string>

#include "env/log.h"

namespace refrain::env {

void StuckCheck::enter(std::int64_t since) noexcept {
  std::int64_t before = since_.load(std::memory_order_relaxed);
  while (before != kGivenUp && !since_.compare_exchange_weak(before, since, std::memory_order_acq_rel)) {
  }
  while (before == kGivenUp) {
    ::pause();  // all signals are blocked: until the process ends
  }
}

bool StuckCheck::stuck() noexcept {
  std::int64_t since = since_.load(std::memory_order_relaxed);
  if (since == kGivenUp) {
    return true;
  }
  if (since == 0 || now_ns() - since < kLongest / std::chrono::nanoseconds(1) ||
      !since_.compare_exchange_strong(since, kGivenUp, std::memory_order_acq_rel)) {
    return since == kGivenUp;
  }
  try {
    log_warning({"the driver has not returned for ", std::to_string(kLongest.count()), " s from ", what_});
  } catch (...) {
    // Without memory nothing is said.
  }
  return true;
}

}  // namespace refrain::env
