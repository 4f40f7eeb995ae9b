#include "replay/policy/trial_budget.h"

#include <catch2/catch.hpp>
#include <vector>

#include "replay/runtime/clock.h"

namespace refrain::replay {
namespace {

env::Settings limited(int permille) {
  env::Settings settings;
  settings.gate = true;
  settings.trial_budget_permille = permille;
  return settings;
}

TEST_CASE("what trials gain makes up for what they lost, but is not saved up") {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  TrialBudget budget(limited(1));
  CHECK(budget.may_lose());
  budget.lose(kHour);
  CHECK_FALSE(budget.may_lose());
  budget.lose(-kHour / 2);
  CHECK_FALSE(budget.may_lose());
  budget.lose(-kHour);
  CHECK(budget.may_lose());
  budget.lose(kHour / 2);
  CHECK_FALSE(budget.may_lose());
}

TEST_CASE("what graphs save pays for building others") {
  constexpr std::uint64_t kHour = 3'600'000'000'000;
  TrialBudget budget(limited(1));
  CHECK(budget.may_build());
  budget.spend(kHour);
  CHECK_FALSE(budget.may_build());
  budget.earn(kHour);
  CHECK_FALSE(budget.may_build());  // half of it
  budget.earn(kHour);
  CHECK(budget.may_build());
}

TEST_CASE("each thread that tries graphs brings a budget of its own, for as long as it lasts") {
  constexpr std::int64_t kFree = 2'000'000, kHour = 3'600'000'000'000;
  TrialBudget budget(limited(1));
  const std::uint64_t first = budget.join();
  budget.lose(kFree * 3 / 2);
  CHECK_FALSE(budget.may_lose());
  const std::uint64_t second = budget.join();
  CHECK(budget.may_lose());
  CHECK(budget.may_build());
  budget.spend(kFree * 3 / 2);
  CHECK(budget.may_build());
  // What it brought stays, but threads that come one after the other bring it once.
  budget.leave(second);
  CHECK(budget.may_lose());
  budget.lose(kFree * 2);
  CHECK_FALSE(budget.may_lose());
  for (int i = 0; i < 100; ++i) {
    budget.leave(budget.join());
  }
  CHECK_FALSE(budget.may_lose());
  budget.leave(first);
  budget.lose(kHour);
  CHECK_FALSE(budget.may_lose());
}

TEST_CASE("the time that threads try graphs counts for each of them") {
  TrialBudget budget(limited(1000));
  constexpr int kThreads = 50;
  std::vector<std::uint64_t> joined;
  for (int i = 0; i < kThreads; ++i) {
    joined.push_back(budget.join());
  }
  const std::uint64_t start = now_ns();
  while (now_ns() - start < 20'000'000) {
  }
  for (const std::uint64_t since : joined) {
    budget.leave(since);
  }
  const auto least = static_cast<std::int64_t>(kThreads) * 20'000'000;
  budget.lose(least);
  CHECK(budget.may_lose());
  budget.lose(1000 * least);
  CHECK_FALSE(budget.may_lose());
}

}  // namespace
}  // namespace refrain::replay
