// Intervals that are concluded, and what a trial saves and measures.
#include <catch2/catch.hpp>

#include "replay/policy/interval_trial_test_support.h"

namespace refrain::replay {
namespace {

TEST_CASE(
    "a concluded interval that comes again and again is looked at now and then, and whenever something is different") {
  Intervals intervals(1);
  const auto cost = [](bool eager, std::uint32_t) { return eager ? 1000 : 600; };
  intervals.run_fairly(cost, 20);
  REQUIRE(intervals.gate.proven());
  intervals.unlooked = 0;
  intervals.run_fairly(cost, 80);
  CHECK(intervals.unlooked == 70);
  CHECK(intervals.gate.summaries().front().seen >=
        100 - 9);  // of those that went by, the last ones are still to be counted
  intervals.unlooked = 0;
  SECTION("it takes longer than without graphs") {
    intervals.run([](bool, std::uint32_t) { return 1100; }, true);
    CHECK(intervals.unlooked == 0);
    CHECK(intervals.gate.proven());
    // Each second one does: not all of the last ones, so that nothing is measured again.
    for (int i = 0; i < 40; ++i) {
      intervals.run([&](bool, std::uint32_t) { return i % 2 == 0 ? 1100 : 600; }, true);
      CHECK(intervals.gate.proven());
    }
    for (int i = 0; i < 16 && intervals.gate.proven(); ++i) {
      intervals.run([](bool, std::uint32_t) { return 1100; }, true);
    }
    CHECK_FALSE(intervals.gate.proven());
  }
  SECTION("more graphs run in it") {
    intervals.launches = 2;
    intervals.run(cost, true);
    CHECK(intervals.unlooked == 0);
    CHECK_FALSE(intervals.gate.proven());
  }
  SECTION("another interval comes in between") {
    intervals.submissions = 11;
    intervals.run(cost, true);
    intervals.submissions = 10;
    intervals.run(cost, true);
    CHECK(intervals.unlooked == 0);
  }
  SECTION("the plans are others") {
    intervals.gate.plans_changed(2);
    intervals.run(cost, true);
    CHECK(intervals.unlooked == 0);
  }
}

TEST_CASE("a concluded interval that would be faster without graphs by now is found out after a while") {
  Intervals intervals(1);
  intervals.run_fairly([](bool eager, std::uint32_t) { return eager ? 1000 : 600; }, 20);
  REQUIRE(intervals.gate.proven());
  intervals.run_fairly([](bool eager, std::uint32_t) { return eager ? 500 : 600; }, 400);
  CHECK(intervals.entry->state() == GraphEntry::State::kBypassing);
}

TEST_CASE("what an interval on trial surely saves is told, to pay for the graphs that it still lacks") {
  const auto saved = [](std::uint64_t took, int eager_intervals) {
    Intervals intervals(1);
    intervals.run([&](bool, std::uint32_t) { return took; }, true);
    int eager = 0;
    while (eager < eager_intervals || intervals.gate.eager_turn()) {
      const bool mine = intervals.gate.eager_turn();
      eager += mine ? 1 : 0;
      intervals.run([&](bool, std::uint32_t) { return mine ? 1000 : took; }, !mine);
      CHECK((!mine || intervals.gate.saved() == 0));
    }
    intervals.run([&](bool, std::uint32_t) { return took; }, true);
    return intervals.gate.saved();
  };
  CHECK(saved(400, 1) == 600);
  CHECK(saved(600, 1) == 0);  // one disturbance could be the reason
  CHECK(saved(600, 2) == 400);
  CHECK(saved(1200, 2) == 0);
}

TEST_CASE(
    "an interval that may lose nothing stays with its graphs if one sample of each leaves no doubt, else without") {
  for (const std::uint64_t took : {300, 700}) {
    Intervals intervals(1);
    const auto cost = [&](bool eager, std::uint32_t) { return eager ? 1000U : took; };
    intervals.run(cost, true);
    REQUIRE(intervals.gate.eager_turn());
    intervals.run(cost, false);
    REQUIRE_FALSE(intervals.gate.eager_turn());
    intervals.may_lose = false;
    intervals.run(cost, true);
    REQUIRE(intervals.gate.eager_turn());  // whose turn it is
    intervals.run(cost, false);
    CHECK(intervals.gate.on_trial());
    CHECK(intervals.gate.eager_turn() == (took == 700));
  }
}

TEST_CASE("what the program does by itself is measured no longer once it is known to be next to nothing") {
  for (const std::uint64_t outside : {10, 200}) {
    Intervals intervals(1);
    int asked = 0;
    int with_graphs = 0;
    for (int i = 0; i < 12 && (i == 0 || intervals.gate.on_trial()); ++i) {
      const bool eager = intervals.gate.eager_turn();
      const bool wanted = [&] {
        intervals.gate.submitted(1, intervals.now);
        return intervals.gate.wants_outside();
      }();
      if (i > 0 && eager) {
        CHECK(wanted);
      }
      if (i > 6 && !eager) {
        asked += wanted ? 1 : 0;
        ++with_graphs;
      }
      if (wanted) {
        intervals.gate.outside(outside);
      }
      intervals.submissions = 9;
      intervals.run([&](bool is_eager, std::uint32_t) { return is_eager ? 1000 : 900; }, !eager);
    }
    CAPTURE(outside, with_graphs);
    CHECK(with_graphs > 0);
    CHECK(asked == (outside == 10 ? 0 : with_graphs));
  }
}

}  // namespace
}  // namespace refrain::replay
