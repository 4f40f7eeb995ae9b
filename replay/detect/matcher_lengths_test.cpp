// How long the chunks are that a matcher makes of a stretch, by any plan.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "replay/detect/matcher.h"
#include "replay/lane/test_lane.h"

using namespace refrain::replay;

TEST_CASE("chunks are no longer than was said last, and never longer than allowed") {
  MatcherOptions options;
  options.chunk_first = 8;
  options.chunk_cap = 64;
  Matcher matcher(options);
  matcher.set_initial_mode(ChunkMode::kHold);
  const auto largest = [&](Token base) {
    const std::uint64_t before = matcher.stats().launched_operations;
    std::uint32_t most = 0;
    for (int round = 0; round < 40; ++round) {
      for (Token token = 0; token < 100; ++token) {
        for (const Action& action : matcher.feed(base + token, true)) {
          most = action.kind == Action::Kind::kLaunch ? std::max(most, action.count) : most;
        }
      }
      static_cast<void>(matcher.cut(refrain::capture::kHostCallToken));
    }
    CHECK(matcher.stats().launched_operations > before + 3000);
    return most;
  };
  CHECK(largest(1000) > 32);
  matcher.set_lengths(0, {8, 4, 10, 0});
  CHECK(largest(2000) <= 10);
  matcher.set_lengths(0, {8, 4, 1'000'000, 0});
  const std::uint32_t again = largest(3000);
  CHECK(again > 32);
  CHECK(again <= 64);
}

namespace {

MatcherOptions waves() {
  MatcherOptions options;
  options.chunk_first = 8;
  options.chunk_growth = 2;
  options.chunk_cap = 64;
  options.chunk_last = 4;
  return options;
}

/// Lengths of what is launched; 0: issued.
void note(std::vector<std::uint32_t>& launched, std::span<const Action> actions) {
  for (const Action& action : actions) {
    launched.push_back(action.kind == Action::Kind::kLaunch ? action.count : 0);
  }
}

}  // namespace

TEST_CASE("chunks become shorter again before a wait, and what is known is divided anew by another plan") {
  Matcher matcher(waves());
  matcher.set_initial_mode(ChunkMode::kHold);
  const auto round = [&](Token length) {
    std::vector<std::uint32_t> launched;
    for (Token token = 1; token <= length; ++token) {
      note(launched, matcher.feed(token * 7919, true));
    }
    note(launched, matcher.cut());
    return launched;
  };
  using Lengths = std::vector<std::uint32_t>;
  for (int i = 0; i < 5; ++i) {
    round(100);
  }
  const Lengths waves = round(100);
  CHECK(waves == Lengths{8, 16, 32, 16, 16, 8, 4});
  matcher.set_lengths(1, {10, 1, 10, 0});
  CHECK(round(100) == waves);
  matcher.use_lengths(1);
  CHECK(round(100) == Lengths(10, 10));
  matcher.set_lengths(0, {8, 2, 16, 1});  // not in use
  CHECK(round(100) == Lengths(10, 10));
  matcher.use_lengths(0);
  const Lengths shorter = round(100);
  CHECK(shorter.back() == 0);  // one operation is no chunk
  CHECK(*std::max_element(shorter.begin(), shorter.end()) == 16);
  CHECK(round(100) == shorter);
  matcher.use_lengths(1);
  CHECK(round(100) == Lengths(10, 10));
}

TEST_CASE("chunks do not become shorter before a cut at which nobody waits") {
  Matcher matcher(waves());
  matcher.set_initial_mode(ChunkMode::kHold);
  std::vector<std::uint32_t> launched;
  constexpr Token kQuiet = 5;
  for (int round = 0; round < 6; ++round) {
    launched.clear();
    for (Token token = 1; token <= 200; ++token) {
      note(launched, matcher.feed(token * 7919, true));
      if (token == 100) {
        note(launched, matcher.cut(kQuiet, false));
      }
    }
    note(launched, matcher.cut());
  }
  CHECK(launched == std::vector<std::uint32_t>{8, 16, 32, 44, 8, 16, 32, 16, 16, 8, 4});
}

TEST_CASE("every length of a stretch is divided into chunks without a gap, by every plan") {
  for (const ChunkLengths lengths : {ChunkLengths{8, 2, 64, 4}, ChunkLengths{8, 4, 128, 1}, ChunkLengths{2, 1, 2, 0},
                                     ChunkLengths{3, 2, 16, 3}, ChunkLengths{64, 1, 64, 0}}) {
    for (std::uint32_t length = 1; length <= 150; length += length < 40 ? 1 : 7) {
      TestLane lane({});  // checks that nothing is lost, longer than allowed or out of order
      lane.matcher.set_lengths(1, lengths);
      for (int round = 0; round < 36; ++round) {
        lane.matcher.use_lengths(round / 6 % 2 == 0 ? 0U : 1U);
        for (Token token = 1; token <= length; ++token) {
          lane.feed(token * 104'729);
        }
        lane.cut();
      }
      INFO("length " << length << " in chunks of " << lengths.first << " to " << lengths.most);
      if (length > 8) {
        CHECK(lane.coverage(std::uint64_t{length} * 18) > 0.85);
      }
    }
  }
}
