#include "replay/policy/interval_successors.h"

#include <catch2/catch.hpp>
#include <vector>

namespace refrain::replay {
namespace {

/// How many of the last round of `round` were expected, after a few of it.
int expected_of(const std::vector<std::uint64_t>& round) {
  IntervalSuccessors successors;
  int right = 0;
  for (int i = 0; i < 5; ++i) {
    right = 0;
    for (const std::uint64_t kind : round) {
      right += successors.expected() == kind ? 1 : 0;
      successors.ended(kind);
    }
  }
  return right;
}

TEST_CASE("the interval that comes next: the same again, as long as nothing else is known") {
  IntervalSuccessors successors;
  successors.ended(7);
  CHECK(successors.expected() == 7);
  successors.ended(9);
  CHECK(successors.expected() == 9);
  successors.ended(7);
  CHECK(successors.expected() == 9);
}

TEST_CASE("the interval that comes next is known where an interval is followed by several") {
  CHECK(expected_of({7}) == 1);
  CHECK(expected_of({7, 8}) == 2);
  CHECK(expected_of({7, 1, 8, 1}) == 4);  // a short one between two long ones
  CHECK(expected_of({7, 7, 7, 8}) == 4);
  CHECK(expected_of({1, 1, 1, 1, 1, 8}) == 4);  // more in a row than are kept: the last two are not told apart
}

}  // namespace
}  // namespace refrain::replay
