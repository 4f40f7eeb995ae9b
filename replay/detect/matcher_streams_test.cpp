// The streams of test/bench/detect, smaller: what must be covered, counted and never timed.
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <vector>

#include "replay/detect/matcher.h"
#include "replay/lane/test_lane.h"

using namespace refrain::replay;

namespace {

class Source {
 public:
  explicit Source(std::uint64_t seed) : random(seed) {}
  Token token() { return random() | 1U; }
  std::vector<Token> body(std::uint32_t length) {
    std::vector<Token> kernels(length / 2 + 1);
    for (Token& kernel : kernels) {
      kernel = token();
    }
    std::vector<Token> result(length);
    for (Token& entry : result) {
      entry = kernels[random() % kernels.size()];
    }
    return result;
  }
  std::mt19937_64 random;
};

/// Share of the second half that is launched; `uncoverable` operations in it are not counted.
double second_half(TestLane& lane, std::uint64_t uncoverable = 0) {
  lane.cut();  // what is still held
  const std::uint64_t half = lane.operations / 2;
  return lane.coverage(half) * static_cast<double>(lane.operations - half) /
         static_cast<double>(lane.operations - half - uncoverable);
}

double per_launch(const TestLane& lane) {
  return static_cast<double>(lane.launched.size()) / static_cast<double>(lane.launches);
}

}  // namespace

TEST_CASE("loops are launched in the third iteration at the latest, and then completely") {
  const std::uint32_t period = GENERATE(1, 16, 300, 2000, 20000);
  Source source(period);
  const auto body = source.body(period);
  TestLane lane({});
  while (lane.operations < std::max(8 * period, 20000U)) {
    lane.feed_all(body);
  }
  CHECK(lane.matcher.stats().first_launch_at <= std::max(3 * period, 32U));
  CHECK(second_half(lane) > 0.999);
  CHECK(per_launch(lane) > 90);
  CHECK(lane.largest <= 127);
  CHECK(lane.matcher.stats().nodes == (period <= 64 ? 128 / period * period : period));
  CHECK(lane.matcher.stats().promoted_periods == 1);
  // The same chunks each time: not more of them than the period needs, beginnings aside.
  CHECK(lane.launched_by.size() <= period / 128 + 12);
}

TEST_CASE("nested loops") {
  const bool fixed = GENERATE(true, false);
  Source source(2);
  const auto head = source.body(8);
  const auto inner = source.body(20);
  const auto tail = source.body(14);
  TestLane lane({});
  while (lane.operations < 60000) {
    lane.feed_all(head);
    const std::uint64_t trips = fixed ? 12 : 3 + source.random() % 18;
    for (std::uint64_t i = 0; i < trips; ++i) {
      lane.feed_all(inner);
    }
    lane.feed_all(tail);
  }
  CHECK(second_half(lane) > 0.995);
  CHECK(per_launch(lane) > 40);
}

TEST_CASE("a log line every tenth iteration becomes part of the period") {
  Source source(3);
  const auto body = source.body(50);
  const Token line = source.token();
  TestLane lane({});
  while (lane.operations < 50000) {
    for (int i = 0; i < 10; ++i) {
      lane.feed_all(body);
    }
    lane.feed(line);
  }
  CHECK(lane.matcher.stats().first_launch_at <= 150);
  CHECK(second_half(lane) > 0.999);
  CHECK(per_launch(lane) > 100);
}

TEST_CASE("half a percent of unique operations costs little more than themselves") {
  const bool instead = GENERATE(false, true);
  const std::uint32_t period = GENERATE(16, 400, 3000);
  Source source(4);
  const auto body = source.body(period);
  TestLane lane({});
  std::vector<std::uint64_t> unique;
  while (lane.operations < 80000) {
    for (const Token token : body) {
      const bool disturbed = source.random() % 200 == 0;
      if (!disturbed || !instead) {
        lane.feed(token);
      }
      if (disturbed) {
        lane.feed(source.token());
        unique.push_back(lane.operations);
      }
    }
  }
  std::uint64_t late = 0;
  for (const std::uint64_t number : unique) {
    late += number > lane.operations / 2 ? 1 : 0;
  }
  CHECK(second_half(lane, late) > 0.99);
  CHECK(lane.matcher.stats().nodes < 3 * period + 500);
}

TEST_CASE("body variants at random and in an order without any repetition") {
  const bool at_random = GENERATE(true, false);
  Source source(5);
  const std::vector<std::vector<Token>> bodies{source.body(60), source.body(75), source.body(90)};
  TestLane lane({});
  std::uint32_t number = 0;
  while (lane.operations < 60000) {
    std::size_t which = source.random() % 3;
    if (!at_random) {  // ternary Thue-Morse word: ones between two zeros of the binary one
      while (__builtin_popcount(number) % 2 != 0) {
        ++number;
      }
      which = 0;
      while (__builtin_popcount(++number) % 2 != 0) {
        ++which;
      }
    }
    lane.feed_all(bodies[which]);
  }
  CHECK(second_half(lane) > 0.99);
  CHECK(per_launch(lane) > 40);
  CHECK(lane.matcher.stats().nodes < 2000);
}

TEST_CASE("phases, and coming back to one after the history has forgotten it") {
  MatcherOptions options;
  options.history = 4096;
  Source source(6);
  std::vector<std::vector<Token>> bodies;
  for (const std::uint32_t length : {120U, 33U, 700U, 250U, 64U}) {
    bodies.push_back(source.body(length));
  }
  TestLane lane(options);
  std::uint64_t nodes = 0;
  for (int step = 0; step < 10; ++step) {
    const std::uint64_t start = lane.operations;
    const std::uint64_t launched = lane.launched.size();
    while (lane.operations < start + 10000) {
      lane.feed_all(bodies[static_cast<std::size_t>(step) % 5]);
    }
    if (step >= 5) {
      CHECK(lane.launched.size() - launched > 9900);
      CHECK(lane.matcher.stats().nodes == nodes);  // nothing had to be learnt again
    }
    nodes = lane.matcher.stats().nodes;
  }
}

TEST_CASE("a loop that drifts keeps most of its chunks") {
  Source source(7);
  auto body = source.body(512);
  TestLane lane({});
  for (int step = 0; step < 30; ++step) {
    for (int i = 0; i < 20; ++i) {
      lane.feed_all(body);
    }
    body[source.random() % body.size()] = source.token();
  }
  CHECK(second_half(lane) > 0.99);
  // 4 chunks at first, then one of them changes each time (with the parts of it that are used meanwhile).
  CHECK(lane.launched_by.size() < 30UL * 24);
  CHECK(per_launch(lane) > 60);
}

TEST_CASE("host calls inside the period, and single operations between them") {
  const bool single = GENERATE(false, true);
  Source source(8);
  const auto first = source.body(40);
  const auto second = source.body(single ? 1 : 23);
  TestLane lane({});
  while (lane.operations < 30000) {
    lane.feed_all(first);
    lane.cut();
    lane.feed_all(second);
    lane.cut();
  }
  CHECK(second_half(lane) == Approx(single ? 40.0 / 41.0 : 1.0).epsilon(0.001));
  CHECK(lane.matcher.stats().first_launch_at <= 3UL * 63);
  CHECK(lane.launched_by.size() <= 12);
}

TEST_CASE("noise launches nothing and holds nothing") {
  const std::uint64_t kernels = GENERATE(0, 5, 20, 1000);
  Source source(9);
  TestLane lane({});
  for (int i = 0; i < 50000; ++i) {
    lane.feed(kernels == 0 ? source.token() : 1 + source.random() % kernels);
  }
  CHECK(lane.launches == 0);
  CHECK(lane.largest == 0);
  CHECK(lane.matcher.stats().nodes == 0);
}

TEST_CASE("noise after a loop with the same kernels soon stops to be held") {
  Source source(10);
  const auto body = source.body(100);
  TestLane lane({});
  for (int i = 0; i < 10; ++i) {
    lane.feed_all(body);
  }
  const std::uint64_t before = lane.launched.size();
  std::uint64_t held = 0;
  for (int i = 0; i < 20000; ++i) {
    lane.feed(body[source.random() % body.size()]);
    held += lane.matcher.held() != 0 ? 1 : 0;
  }
  CHECK(held < 400);
  CHECK(lane.launched.size() - before < 200);
}
