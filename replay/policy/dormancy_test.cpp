#include "replay/policy/dormancy.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace refrain::replay {
namespace {

env::Settings with_gate() {
  env::Settings settings;
  settings.gate = true;
  settings.dormant_after = 100;
  settings.history = 1000;
  return settings;
}

/// So many submissions come, of which no graph will make any faster.
Dormancy::Seen hopeless(std::uint64_t submissions) {
  return {.submissions = submissions, .hopeless = submissions};
}

TEST_CASE("a lane in which nothing pays is dormant for longer and longer", "[promise-6]") {
  Dormancy dormancy(with_gate());
  CHECK_FALSE(dormancy.is_due(99));
  REQUIRE(dormancy.is_due(100));
  std::uint64_t submissions = 100;
  std::uint64_t expected = 400;
  for (int i = 0; i < 10; ++i) {
    CHECK(dormancy.consider(hopeless(submissions), 0) == expected);
    dormancy.resume(hopeless(submissions));
    CHECK_FALSE(dormancy.is_due(submissions + 99));
    submissions += 100;
    expected = std::min<std::uint64_t>(2 * expected, 6400);
  }
  // What is replayed again shortens it.
  Dormancy::Seen seen = hopeless(submissions);
  seen.replayed = 50;
  CHECK(dormancy.consider(seen, 0) == 0);
  CHECK_FALSE(dormancy.is_due(submissions + 99));
  seen.submissions += 100;
  seen.hopeless += 100;
  CHECK(dormancy.consider(seen, 0) == 400);
}

TEST_CASE("a lane goes on looking while something may still pay") {
  Dormancy dormancy(with_gate());
  CHECK(dormancy.consider(hopeless(100), 50) == 0);  // a long interval that is just being compared
  Dormancy::Seen unknown = hopeless(100);
  unknown.hopeless = 89;
  CHECK(dormancy.consider(unknown, 0) == 0);  // it may repeat later …
  unknown.submissions = 4000;
  CHECK(dormancy.consider(unknown, 0) == 400);  // … but not after more than the history can compare
}

TEST_CASE("a lane goes on looking while it takes turns with another one whose work is replayed") {
  Dormancy dormancy(with_gate());
  Dormancy::Seen seen = hopeless(100);
  seen.replayed_by_all = 10;
  dormancy.queue_handed_off();
  CHECK(dormancy.consider(seen, 0) == 0);
  dormancy.resume(seen);
  seen.submissions += 100;
  seen.hopeless += 100;
  seen.replayed_by_all += 10;
  CHECK(dormancy.consider(seen, 0) == 400);  // it has not taken anything over since
}

TEST_CASE("submissions with none beside them that can be replayed are hopeless where a graph needs two") {
  env::Settings settings = with_gate();
  const int least = GENERATE(1, 2);
  const std::uint64_t others = GENERATE(0, 7);  // hopeless ones, in the same stretch
  const bool blocks = GENERATE(false, true);    // the last one of every other stretch
  CAPTURE(least, others, blocks);
  settings.min_graph = least;
  Dormancy dormancy(settings);
  std::uint64_t submissions = 0, hopeless = 0;
  for (int stretch = 0; stretch < 100; ++stretch) {
    dormancy.stretch_begins(submissions + 1, hopeless);
    submissions += others + 1;
    hopeless += others;
    if (blocks && stretch % 2 == 0) {
      dormancy.part_ends(submissions, hopeless);
    } else {
      dormancy.stretch_ends(submissions, hopeless);
    }
  }
  CHECK((dormancy.consider({.submissions = submissions, .hopeless = hopeless}, 0) != 0) == (least == 2));
}

TEST_CASE("no lane is dormant but one that replays with the gate, or where the user says so") {
  env::Settings settings;
  settings.gate = true;
  CHECK(Dormancy(settings).is_due(1'000'000));
  settings.gate = false;
  CHECK_FALSE(Dormancy(settings).is_due(1'000'000));
  settings.dormant_after = 10;
  CHECK(Dormancy(settings).is_due(10));
  settings.mode = env::Mode::kObserve;
  CHECK_FALSE(Dormancy(settings).is_due(1'000'000));
}

}  // namespace
}  // namespace refrain::replay
