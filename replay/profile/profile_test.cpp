#include "replay/profile/profile.h"

#include <catch2/catch.hpp>
#include <random>

namespace refrain::replay {
namespace {

Profile example() {
  Profile profile;
  profile.origin = {"1.2.3", "a device", "4.5", 6};
  LaneProfile lane;
  lane.number = 1;
  lane.patterns.patterns.push_back({{1, 2, 3}, {Cut::kNone, Cut::kBehind, Cut::kWait}, true, true, 1, 1});
  lane.patterns.patterns.push_back({{4, 5}, {Cut::kNone, Cut::kNone}, false, false, 0, KnownPatterns::kNone});
  lane.patterns.edges.push_back({7, 0, 1, 1, 2, 3});
  lane.pace = {250, 2};
  lane.intervals.push_back({8, 100, 50, 1, 96, 4000, 3000, 5000, 3500});
  profile.lanes = {lane, {2, {}, {}, {}}};
  profile.graphs = {{9, true, 100, 50}, {10, false, 100, 200}};
  return profile;
}

}  // namespace

TEST_CASE("A profile is read as it was written") {
  std::string why;
  const Profile written = example();
  const std::vector<std::byte> bytes = encoded(written);
  CHECK(is_profile(bytes));
  const auto read = decoded(bytes, &why);
  REQUIRE(read.has_value());
  CHECK(*read == written);
  const Profile nothing;
  CHECK(decoded(encoded(nothing), &why) == nothing);
}

TEST_CASE("A damaged profile is never used, wherever it is damaged") {
  std::string why;
  const std::vector<std::byte> whole = encoded(example());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> damaged = whole;
    damaged[i] ^= std::byte{static_cast<unsigned char>(1U << i % 8)};
    CHECK(!decoded(damaged, &why).has_value());
    damaged = whole;
    damaged.resize(i);
    CHECK(!decoded(damaged, &why).has_value());
    CHECK(is_profile(damaged) == (i >= 16));
  }
  CHECK(!why.empty());
  std::vector<std::byte> longer = whole;
  longer.resize(whole.size() + 8);
  CHECK(!decoded(longer, &why).has_value());
}

TEST_CASE("A profile of somewhere else is told from one of here, and why") {
  const ProfileOrigin here = example().origin;
  CHECK(difference(here, here).empty());
  for (const auto& change :
       {+[](ProfileOrigin& origin) { origin.refrain = "1.2.4"; },
        +[](ProfileOrigin& origin) { origin.device = "another"; },
        +[](ProfileOrigin& origin) { origin.driver = "4.6"; }, +[](ProfileOrigin& origin) { origin.program = 7; }}) {
    ProfileOrigin there = here;
    change(there);
    CHECK(!difference(there, here).empty());
  }
}

}  // namespace refrain::replay
