#include "replay/graph/newcomers.h"

#include <catch2/catch.hpp>

namespace refrain::replay {
namespace {

TEST_CASE("the first stretch that waits and comes again and again says when to look") {
  Newcomers newcomers;
  capture::Fingerprint once = 1'000'000;  // what comes once each says nothing
  for (int round = 1; round <= 3 * Newcomers::kTimes; ++round) {
    CHECK_FALSE(newcomers.came(++once));
    CHECK(newcomers.came(7) == (round % Newcomers::kTimes == 0));
    if (round % Newcomers::kTimes == 0) {
      CHECK(newcomers.take_waiting() == 3);  // two stretches, and one for what is divided away
      CHECK(newcomers.take_waiting() == 1);
    }
  }
}

TEST_CASE("stretches that wait and come in turn are looked for once all came") {
  Newcomers newcomers;
  for (int looks = 0; looks < 3; ++looks) {
    capture::Fingerprint came = 0;
    while (!newcomers.came(came % 1000)) {
      ++came;
    }
    CHECK(came >= std::uint64_t{1000} * (Newcomers::kTimes - 1U));
  }
}

}  // namespace
}  // namespace refrain::replay
