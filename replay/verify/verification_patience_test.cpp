#include "replay/verify/verification_patience.h"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using refrain::replay::VerificationPatience;

TEST_CASE("waits in vain take four seconds together, and a 25th of the time") {
  VerificationPatience patience;
  const auto start = VerificationPatience::Clock::now();
  const auto next = [&](auto after) { return patience.until(start + after) - (start + after); };
  CHECK(next(0s) > 1900ms);
  VerificationPatience::Clock::duration lost{};
  for (int i = 0; i < 10; ++i) {
    const auto longest = next(0s);
    patience.in_vain(longest);
    lost += longest;
  }
  CHECK(lost > 3900ms);
  CHECK(lost < 4100ms);
  CHECK(next(0s) < 10ms);
  CHECK(next(25s) > 450ms);
  CHECK(next(25s) < 550ms);
  CHECK(next(1000s) == VerificationPatience::kLongest);
}
