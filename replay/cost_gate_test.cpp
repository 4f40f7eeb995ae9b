#include "replay/cost_gate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <vector>

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
