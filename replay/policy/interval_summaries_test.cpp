#include <catch2/catch.hpp>

#include "replay/policy/interval_trial_test_support.h"

namespace refrain::replay {
namespace {

TEST_CASE("an interval that is not run with graphs says why, by what was decisive") {
  Intervals slower(1);
  slower.run_fairly([](bool eager, std::uint32_t) { return eager ? 1000 : 1200; }, 60);
  CHECK(slower.gate.summaries().front().reason == "it is not faster with graphs");

  Intervals intervals(1);
  // The whole seems to gain, by what the program does by itself.
  std::uint64_t by_itself = 300;
  const auto cost = [&](bool eager, std::uint32_t) {
    const std::uint64_t outside = eager ? by_itself : 0;
    intervals.gate.outside(outside);
    return outside + 1000;
  };
  intervals.run_fairly(cost, 1);
  CHECK(intervals.gate.summaries().front().reason == "it did not come often enough to decide");
  intervals.run_fairly(cost, 60);
  const IntervalSummary summary = intervals.gate.summaries().front();
  CHECK(summary.state == IntervalSummary::State::kDeclined);
  CHECK(summary.eager_ns > summary.plans[summary.plan].ns);
  CHECK(summary.reason ==
        "but submitting and waiting alone, which is what graphs change, take 1.0 us eagerly, 1.0 us with graphs");
}

TEST_CASE("an interval that comes without its graphs saves nothing") {
  Intervals intervals(1);
  const auto cost = [](bool eager, std::uint32_t) { return eager ? 1000 : 600; };
  intervals.run_fairly(cost, 60);
  REQUIRE(intervals.gate.proven());
  const auto saved = [&] { return intervals.gate.summaries().front().saved_ns; };
  const std::uint64_t before = saved();
  for (int i = 0; i < 40; ++i) {
    intervals.run(cost, false);  // no graph was ready, or each was declined by itself
  }
  CHECK(saved() <= before + 9 * 400);  // those that went by before were still to be counted
  const std::uint64_t then = saved();
  for (int i = 0; i < 40; ++i) {
    intervals.run(cost, true);
  }
  CHECK(saved() > then);
}

}  // namespace
}  // namespace refrain::replay
