#include "replay/bench/bench_statistics.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace refrain::replay {
namespace {

/// Samples of 1, 2, … microseconds, the last one first.
BenchTime counted(std::uint64_t samples) {
  std::vector<std::uint64_t> ns;
  for (std::uint64_t i = samples; i > 0; --i) {
    ns.push_back(1000 * i);
  }
  return summarize(ns);
}

/// Times as they are: none below a floor, and some far above it.
BenchTime measured(std::mt19937& random, std::size_t samples, double factor) {
  std::lognormal_distribution<double> beyond(0.0, 1.0);
  std::vector<std::uint64_t> ns;
  while (ns.size() < samples) {
    ns.push_back(static_cast<std::uint64_t>(factor * (10000 + 1000 * beyond(random))));
  }
  return summarize(ns);
}
constexpr double kMedian = 11.0;  // of measured() with factor 1, in us

}  // namespace

TEST_CASE("bench statistics: percentiles are between samples, and the interval's ends are samples") {
  const BenchTime time = counted(30);
  CHECK(time.median == Approx(15.5));
  CHECK(time.p10 == Approx(3.9));
  CHECK(time.p90 == Approx(27.1));
  REQUIRE(time.interval);
  // The binomial distribution of 30 and 1/2 is at most 7 with 0.26 %, at most 8 with 0.81 %.
  CHECK(time.interval->low == 8);
  CHECK(time.interval->high == 23);
}

TEST_CASE("bench statistics: few samples have a median and no interval") {
  std::vector<std::uint64_t> none;
  CHECK(summarize(none).median == 0);
  CHECK_FALSE(summarize(none).interval);
  CHECK(counted(1).median == 1);
  CHECK_FALSE(counted(7).interval);  // both ends of 7 leave 2 / 128 outside
  const BenchTime eight = counted(8);
  REQUIRE(eight.interval);
  CHECK(eight.interval->low == 1);
  CHECK(eight.interval->high == 8);
  CHECK(verdict_of(ratio_of(counted(7), counted(8))) == Verdict::kNoDifference);
}

TEST_CASE("bench statistics: of very many samples the interval is narrow, as the normal distribution has it") {
  const BenchTime time = counted(100000);
  REQUIRE(time.interval);
  const double half = 2.5758 * std::sqrt(100000.0) / 2;
  CHECK(time.median - time.interval->low == Approx(half).epsilon(0.01));
  CHECK(time.interval->high - time.median == Approx(half).epsilon(0.01));
}

TEST_CASE("bench statistics: a ratio's interval is as far from 1 one way as the other") {
  const BenchTime one{10, 9, 12, Interval{9, 12}}, other{20, 19, 21, Interval{19, 21}};
  const TimeRatio ratio = ratio_of(other, one), inverse = ratio_of(one, other);
  CHECK(ratio.value == 2);
  REQUIRE(ratio.interval);
  REQUIRE(inverse.interval);
  CHECK(ratio.interval->low == Approx(1 / inverse.interval->high));
  CHECK(ratio.interval->high == Approx(1 / inverse.interval->low));
  // Narrower than from the worst of both ends, wider than from either alone.
  CHECK(ratio.interval->low > 19.0 / 12);
  CHECK(ratio.interval->low < 20.0 / 12);
  CHECK(ratio.interval->high < 21.0 / 9);
  CHECK(ratio.interval->high > 20.0 / 9);
  CHECK(ratio_of(one, {}).value == 0);
  CHECK_FALSE(ratio_of(one, {0, 0, 0, Interval{0, 0}}).interval);
  CHECK_FALSE(ratio_of(one, {10, 9, 12, Interval{0, 12}}).interval);
}

TEST_CASE("bench statistics: a verdict needs the whole interval beyond the tolerance") {
  const auto verdict = [](double low, double high, double tolerance) {
    return verdict_of({std::sqrt(low * high), Interval{low, high}}, tolerance);
  };
  CHECK(verdict(1.02, 1.10, 0) == Verdict::kSlower);
  CHECK(verdict(1.02, 1.10, 0.05) == Verdict::kNoDifference);
  CHECK(verdict(1.06, 1.10, 0.05) == Verdict::kSlower);
  CHECK(verdict(0.90, 0.98, 0) == Verdict::kFaster);
  CHECK(verdict(0.90, 0.98, 0.05) == Verdict::kNoDifference);
  CHECK(verdict(0.90, 0.94, 0.05) == Verdict::kFaster);
  CHECK(verdict(0.99, 1.01, 0) == Verdict::kNoDifference);
  CHECK(verdict(1.00, 1.01, 0) == Verdict::kNoDifference);
}

TEST_CASE("bench statistics: intervals hold the truth as often as they say, of times that are not normal") {
  std::mt19937 random(1);
  constexpr int kTrials = 4000;
  int median_inside = 0, ratio_inside = 0, called = 0, found = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const BenchTime before = measured(random, 30, 1), after = measured(random, 30, 1.05);
    const BenchTime again = measured(random, 30, 1);
    median_inside += before.interval->low <= kMedian && kMedian <= before.interval->high ? 1 : 0;
    const TimeRatio ratio = ratio_of(after, before);
    ratio_inside += ratio.interval->low <= 1.05 && 1.05 <= ratio.interval->high ? 1 : 0;
    called += verdict_of(ratio_of(again, before)) == Verdict::kNoDifference ? 0 : 1;
    found += verdict_of(ratio_of(measured(random, 30, 1.2), before)) == Verdict::kSlower ? 1 : 0;
  }
  CHECK(median_inside > 0.985 * kTrials);
  CHECK(ratio_inside > 0.985 * kTrials);
  CHECK(called < 0.015 * kTrials);
  CHECK(found > 0.9 * kTrials);
}

}  // namespace refrain::replay
