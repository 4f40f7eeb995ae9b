#include "replay/policy/cost_gate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <vector>

using refrain::replay::CostGate;
using refrain::replay::RecentCosts;

TEST_CASE("of the last few costs, whatever their order: least, lower quartile, median, greatest") {
  std::mt19937 random(5);
  RecentCosts costs;
  std::deque<std::uint64_t> last;
  CHECK(costs.median() == 0);
  CHECK(costs.low() == 0);
  for (int i = 0; i < 4000; ++i) {
    if (random() % 50 == 0) {
      costs.clear();
      last.clear();
      CHECK(costs.greatest() == 0);
    }
    const std::uint64_t cost = random() % (i % 2 == 0 ? 5 : 100'000);  // equal ones, too
    costs.add(cost);
    last.push_back(cost);
    if (last.size() > RecentCosts::kKept) {
      last.pop_front();
    }
    std::vector<std::uint64_t> sorted(last.begin(), last.end());
    std::sort(sorted.begin(), sorted.end());
    REQUIRE(costs.least() == sorted.front());
    REQUIRE(costs.low() == sorted[(sorted.size() - 1) / 4]);
    REQUIRE(costs.median() == sorted[sorted.size() / 2]);
    REQUIRE(costs.greatest() == sorted.back());
  }
}

TEST_CASE("a graph pays if it is cheaper by the margin that was asked for", "[promise-6]") {
  const auto verdict = [](double margin_percent, std::uint64_t replay_ns) {
    CostGate gate(true, margin_percent);
    for (int i = 0; i < 4; ++i) {  // the first replay is a warm-up
      gate.add_eager(1000);
      gate.add_replay(replay_ns);
    }
    return gate.verdict();
  };
  CHECK(verdict(0, 1000) == CostGate::Verdict::kPays);
  CHECK(verdict(0, 1001) == CostGate::Verdict::kDoesNotPay);
  CHECK(verdict(50, 500) == CostGate::Verdict::kPays);
  CHECK(verdict(50, 510) == CostGate::Verdict::kDoesNotPay);
  CHECK(verdict(50, 900) == CostGate::Verdict::kDoesNotPay);
}
