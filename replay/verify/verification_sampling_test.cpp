#include "replay/verify/verification_sampling.h"

#include <catch2/catch.hpp>
#include <vector>

#include "replay/graph/verification.h"

using refrain::replay::Verification;
using refrain::replay::VerificationSampling;

TEST_CASE("which replays are compared: one in so many, or one in a thousand while there is time") {
  const VerificationSampling tenth(10);
  CHECK((tenth.due(20) && !tenth.due(21)));
  VerificationSampling unset(0);
  CHECK((unset.due(1000) && unset.due(3000) && !unset.due(20)));
  unset.took(std::uint64_t{1} << 50U);
  CHECK_FALSE(unset.due(1000));
}

TEST_CASE("which replays are compared: the first three, then what is due, and who only replays takes the others") {
  const auto due = [](std::uint64_t number) { return number == 5; };
  Verification graph;
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(graph.take_replay(due));
    REQUIRE(graph.next(due) == Verification::Turn::kCompare);
    graph.equal();
  }
  // The one that made it equal did not count: three more do.
  std::vector<bool> taken;
  for (int i = 0; i < 6; ++i) {
    taken.push_back(graph.take_replay(due));
    if (!taken.back()) {
      CHECK(graph.next(due) == Verification::Turn::kCompare);
      graph.equal();
    }
  }
  CHECK(taken == std::vector{false, true, true, false, true, true});
  graph.failed("nobody knows");
  CHECK_FALSE(graph.take_replay(due));
}
