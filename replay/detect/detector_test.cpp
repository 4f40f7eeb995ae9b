#include "replay/detect/detector.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "replay/tuning.h"

using refrain::replay::Cut;
using refrain::replay::Detector;
using refrain::replay::History;
namespace tuning = refrain::replay::tuning;

namespace {

struct Rig {
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject): its constructor is in another file
  explicit Rig(std::uint32_t capacity) : history(capacity), detector(history) {}
  Detector::Step push(std::uint64_t value) {
    history.push(value, Cut::kNone);
    return detector.step();
  }
  History history;
  Detector detector;
};

}  // namespace

TEST_CASE("a period is reported when two of it have come, and after each further one") {
  const std::uint64_t period = GENERATE(16, 17, 100, 1000, 8000);
  Rig rig(1U << 14U);
  std::vector<std::uint64_t> reported;
  for (std::uint64_t i = 0; i < 4 * period; ++i) {
    if (const auto step = rig.push(i % period + 1); step.period != 0) {
      CHECK(step.period == period);
      reported.push_back(i + 1);
    }
  }
  CHECK(reported == std::vector<std::uint64_t>{2 * period, 3 * period, 4 * period});
  CHECK(rig.detector.distance() == period);
  CHECK(rig.detector.length() == 3 * period);
}

TEST_CASE("short periods need sixteen values that agree") {
  const std::uint64_t period = GENERATE(1, 2, 3, 5, 15);
  Rig rig(1024);
  std::uint64_t first = 0;
  for (std::uint64_t i = 0; i < 100 && first == 0; ++i) {
    const auto step = rig.push(i % period + 1);
    first = step.period != 0 ? i + 1 : 0;
    CHECK((step.period == 0 || step.period % period == 0));
  }
  CHECK(first >= tuning::kSignificantMatch);
  CHECK(first <= tuning::kSignificantMatch + 2 * period + History::kGram);
}

TEST_CASE("the end of a match is told with its length, and the match begins where the repetition does") {
  Rig rig(1024);
  for (std::uint64_t i = 0; i < 100; ++i) {
    rig.push(1000 + i);
  }
  rig.push(1);
  for (std::uint64_t i = 20; i < 60; ++i) {
    rig.push(1000 + i);
  }
  CHECK(rig.detector.length() == 40);
  CHECK(rig.detector.distance() == 81);
  CHECK(rig.push(2).ended == 40);
  CHECK(rig.detector.length() == 0);
}

TEST_CASE("what the ring has forgotten is not found") {
  Rig rig(256);
  for (int round = 0; round < 4; ++round) {
    for (std::uint64_t i = 0; i < 300; ++i) {
      CHECK(rig.push(i + 1).period == 0);
    }
  }
  CHECK(rig.detector.length() == 0);
  for (int round = 0; round < 4; ++round) {
    for (std::uint64_t i = 0; i < 200; ++i) {
      rig.push(i + 1);
    }
  }
  CHECK(rig.detector.distance() == 200);
}

TEST_CASE("a match goes on after values were taken back") {
  Rig rig(1024);
  for (std::uint64_t i = 0; i < 130; ++i) {
    rig.push(i % 50 + 1);
  }
  REQUIRE(rig.detector.length() == 80);
  const std::uint64_t position = rig.history.size();
  CHECK(rig.push(999).ended == 80);
  rig.push(31);
  rig.history.truncate(position);
  rig.detector.resume(position);
  rig.push(31);
  rig.push(32);
  CHECK(rig.detector.length() == 82);
  CHECK(rig.detector.distance() == 50);
  rig.history.truncate(position - 5);
  rig.detector.resume(position - 5);  // no match ended there
  CHECK(rig.detector.length() == 0);
}

TEST_CASE("the hash of the newest six is the same however they got there") {
  std::mt19937_64 random(7);
  History one(64);
  History other(64);
  for (int i = 0; i < 500; ++i) {
    one.push(random(), Cut::kNone);
  }
  for (std::uint64_t value = 1; value <= 6; ++value) {
    one.push(value, Cut::kNone);
    other.push(value, Cut::kNone);
  }
  CHECK(one.gram() == other.gram());
  one.push(50, Cut::kNone);
  one.push(51, Cut::kWait);
  CHECK(one.cut_at(one.size() - 1) == Cut::kWait);
  one.truncate(one.size() - 2);
  CHECK(one.gram() == other.gram());
  CHECK(one.at(one.size() - 1) == 6);
}
