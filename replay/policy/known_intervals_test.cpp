#include <catch2/catch.hpp>

#include "replay/policy/interval_trial_test_support.h"
#include "replay/tuning.h"

namespace refrain::replay {
namespace {

/// Faster with graphs, and fastest with the second plan.
std::uint64_t gains(bool eager, std::uint32_t plan) {
  return eager ? 10'000 : plan == 1 ? 5'000 : 8'000;
}

std::vector<KnownInterval> concluded() {
  Intervals intervals(2);
  intervals.run_fairly(gains, 200);
  REQUIRE(intervals.gate.proven());
  return intervals.gate.known();
}

}  // namespace

TEST_CASE("What was concluded of an interval is told to another run") {
  const std::vector<KnownInterval> known = concluded();
  REQUIRE(known.size() == 1);
  CHECK(known.front().plan == 1);
  CHECK(known.front().submissions == 10);
  CHECK(known.front().eager_ns == 10'000);
  CHECK(known.front().graph_ns == 5'000);
}

TEST_CASE("what another run has concluded of an interval is believed, and checked soon") {
  const std::vector<KnownInterval> known = concluded();
  Intervals intervals(2);
  intervals.gate.learn(known);
  CHECK(intervals.gate.plan() == 1);
  int eager = 0;
  int first_eager = 0;
  for (int i = 1; i <= 2000; ++i) {
    eager += intervals.gate.eager_turn() ? 1 : 0;
    first_eager = first_eager == 0 && eager != 0 ? i : first_eager;
    intervals.run_fairly(gains, 1);
  }
  CHECK(first_eager > static_cast<int>(tuning::kCheckOfKnown) / 2);
  CHECK(first_eager < static_cast<int>(tuning::kCheckOfKnown) * 2);
  CHECK(intervals.gate.plan() == 1);
}

TEST_CASE("What is wrong of an interval by now is found out as soon as it is checked") {
  const std::vector<KnownInterval> known = concluded();
  Intervals intervals(2);
  intervals.gate.learn(known);
  intervals.run_fairly([](bool eager, std::uint32_t /*plan*/) { return eager ? 10'000U : 14'000U; }, 300);
  CHECK(intervals.entry->state() == GraphEntry::State::kBypassing);
  CHECK(intervals.replayed < 2 * static_cast<int>(tuning::kCheckOfKnown));
}

TEST_CASE("What nobody would have concluded of an interval is not believed") {
  const KnownInterval right = concluded().front();
  for (const auto& change :
       {+[](KnownInterval& known) { known.plan = 2; }, +[](KnownInterval& known) { known.plan = ~0U; },
        +[](KnownInterval& known) { known.graph_ns = known.eager_ns + 1; },
        +[](KnownInterval& known) { known.graph_ns = 0; },
        +[](KnownInterval& known) { known.in_graphs = known.submissions + 1; }}) {
    KnownInterval wrong = right;
    change(wrong);
    Intervals intervals(2);
    intervals.gate.learn(std::span(&wrong, 1));
    CHECK(intervals.gate.known().empty());
  }
}

}  // namespace refrain::replay
