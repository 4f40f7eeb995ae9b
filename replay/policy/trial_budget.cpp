#include "replay/policy/trial_budget.h"

#include <algorithm>
#include <utility>

#include "replay/runtime/clock.h"
#include "replay/tuning.h"

namespace refrain::replay {

TrialBudget::TrialBudget(const env::Settings& settings) noexcept
    : limited_(settings.gate && settings.mode != env::Mode::kVerify),
      permille_(static_cast<std::uint64_t>(settings.trial_budget_permille)),
      started_ns_(now_ns()) {}

void TrialBudget::lose(std::int64_t ns) noexcept {
  std::uint64_t before = lost_ns_.load(std::memory_order_relaxed);
  std::uint64_t after = 0;
  do {  // nothing is saved up: what graphs earn in the end pays for other trials
    const std::int64_t sum = static_cast<std::int64_t>(before) + ns;
    after = sum > 0 ? static_cast<std::uint64_t>(sum) : 0;
  } while (!lost_ns_.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

bool TrialBudget::allows(std::uint64_t spent) const noexcept {
  if (!limited_) {
    return true;
  }
  const std::uint64_t allowed = tuning::kFreeTrialNs * most_trying_.load(std::memory_order_relaxed) +
                                tried_for() / 1000 * permille_ + earned_ns_.load(std::memory_order_relaxed) / 2;
  return spent < allowed;
}

std::uint64_t TrialBudget::join() noexcept {
  const std::uint64_t now = now_ns() - started_ns_;
  // In this order (and the other way round in the end), so that whoever reads in between finds too little.
  joined_sum_.fetch_add(now, std::memory_order_seq_cst);
  const std::uint64_t trying = trying_.fetch_add(1, std::memory_order_seq_cst) + 1;
  std::uint64_t most = most_trying_.load(std::memory_order_relaxed);
  while (trying > most && !most_trying_.compare_exchange_weak(most, trying, std::memory_order_relaxed)) {
  }
  return now;
}

void TrialBudget::leave(std::uint64_t joined_ns) noexcept {
  const std::uint64_t now = now_ns() - started_ns_;
  trying_.fetch_sub(1, std::memory_order_seq_cst);
  joined_sum_.fetch_sub(joined_ns, std::memory_order_seq_cst);
  left_sum_.fetch_add(now - std::min(now, joined_ns), std::memory_order_relaxed);
}

/// Nanoseconds, of all threads together; at least the process's own.
std::uint64_t TrialBudget::tried_for() const noexcept {
  const std::uint64_t elapsed = now_ns() - started_ns_;
  const std::uint64_t begun = joined_sum_.load(std::memory_order_seq_cst);
  const std::uint64_t until_now = trying_.load(std::memory_order_seq_cst) * elapsed;
  const std::uint64_t sum = left_sum_.load(std::memory_order_relaxed) + (until_now > begun ? until_now - begun : 0);
  return std::max(elapsed, sum);
}

void TrialShare::pause() noexcept {
  if (since_ns_.has_value()) {
    budget_.leave(*std::exchange(since_ns_, std::nullopt));
    paused_ = true;
  }
}

void TrialShare::resume() noexcept {
  if (std::exchange(paused_, false)) {
    join();
  }
}

}  // namespace refrain::replay
