#include "replay/graph/instance_worth.h"

#include <catch2/catch.hpp>

#include "replay/graph/test_occurrence.h"
#include "replay/tuning.h"

namespace refrain::replay {
namespace {

using test::kernels;
using test::views;

ArgumentHashes arguments(const std::vector<std::uint64_t>& scalars) {
  ArgumentHashes hashes;
  hashes.compute(views(kernels(scalars)));
  return hashes;
}

TEST_CASE("an instance is worth building once what was issued for want of it has cost as much") {
  InstanceWorth worth;
  CHECK_FALSE(worth.pays({}));
  worth.issued(tuning::kChangesForBuild / tuning::kChangesForIssue - 1);
  CHECK_FALSE(worth.pays({}));
  worth.issued(1);
  CHECK(worth.pays({}));
  CHECK_FALSE(worth.pays({.builds = 1}));  // which cost as much again
}

TEST_CASE("an instance more is worth building once changing the others has cost as much as all of them") {
  const InstanceWorth worth;
  CHECK_FALSE(worth.pays({.builds = 1, .changed = 10, .changed_operations = 2 * tuning::kChangesForBuild - 1}));
  CHECK(worth.pays({.builds = 1, .changed = 10, .changed_operations = 2 * tuning::kChangesForBuild}));
  CHECK_FALSE(worth.pays({.builds = 2, .changed = 10, .changed_operations = 2 * tuning::kChangesForBuild}));
  // With one instance the launches that fitted another one would have been changed ones as well.
  CHECK(worth.pays({.builds = 2, .fitted = 10, .changed = 10, .changed_operations = 2 * tuning::kChangesForBuild}));
  CHECK_FALSE(worth.pays({.fitted = 1'000'000}));
}

TEST_CASE("arguments that come back deserve an instance of their own") {
  InstanceWorth worth;
  CHECK_FALSE(worth.deserve_own(arguments({1, 2, 3}), 1, 1));
  CHECK_FALSE(worth.deserve_own(arguments({1, 2, 4}), 1, 1));
  CHECK(worth.deserve_own(arguments({1, 2, 3}), 1, 1));
  CHECK_FALSE(worth.deserve_own(arguments({1, 2, 3}), 0, 1));  // it had them
}

TEST_CASE("arguments are forgotten behind so many others") {
  const std::uint64_t others = GENERATE(127U, 128U);
  InstanceWorth worth;
  CHECK_FALSE(worth.come_back(arguments({0})));
  for (std::uint64_t i = 1; i <= others; ++i) {
    CHECK_FALSE(worth.come_back(arguments({i})));
  }
  CHECK(worth.come_back(arguments({0})) == (others == 127));
}

TEST_CASE("arguments of which most come back deserve an instance, while there are few") {
  InstanceWorth worth;
  CHECK_FALSE(worth.deserve_own(arguments({1, 2, 3, 100}), 4, 1));
  CHECK_FALSE(worth.deserve_own(arguments({5, 6, 7, 101}), 4, 1));
  CHECK(worth.deserve_own(arguments({1, 2, 3, 102}), 4, 1));
  CHECK_FALSE(worth.deserve_own(arguments({5, 6, 7, 103}), 4, 8));
  CHECK_FALSE(worth.deserve_own(arguments({1, 2, 3, 104}), 1, 1));  // hardly anything had to be changed for them
}

}  // namespace
}  // namespace refrain::replay
