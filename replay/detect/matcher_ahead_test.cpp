// A matcher that is told of launches after they were made.
#include <catch2/catch.hpp>
#include <vector>

#include "replay/detect/matcher.h"
#include "replay/lane/test_lane.h"

using namespace refrain::replay;

/// All chunks that the matcher tells, up to eight.
std::vector<ChunkId> chunks_ahead(Matcher& matcher) {
  std::vector<ChunkId> told;
  if (matcher.held() != 0) {
    told.push_back(matcher.holding().chunk);
  }
  while (told.size() < 8) {
    const Holding next = matcher.next_chunk();
    if (next.chunk == kNoChunk) {
      break;
    }
    CHECK(next.count == 0);
    CHECK(next.length == matcher.tokens_of(next.chunk).size());
    told.push_back(next.chunk);
  }
  return told;
}

TEST_CASE("while a chunk is held, or at the end of a stretch, those that will follow can be asked for") {
  MatcherOptions options;
  options.chunk_first = GENERATE(4U, 16U);
  options.chunk_cap = 32;
  const bool cuts = GENERATE(false, true);
  const std::uint32_t held = GENERATE(0U, 1U);
  Matcher matcher(options);
  matcher.set_initial_mode(ChunkMode::kHold);
  std::vector<ChunkId> told, launched;
  int compared = 0;
  const auto ask = [&] {
    launched.clear();
    told = chunks_ahead(matcher);
  };
  for (int round = 0; round < 40; ++round) {
    for (const Token token : body(100, 10)) {
      for (const Action& action : matcher.feed(token, true)) {
        if (action.kind == Action::Kind::kLaunch) {
          launched.push_back(action.chunk);
        }
      }
      if (round >= 20 && told.empty() && matcher.held() == held && (held != 0 || !cuts)) {
        ask();
      }
    }
    if (cuts) {
      for (const Action& action : matcher.cut()) {
        CHECK(action.kind == Action::Kind::kLaunch);
        launched.push_back(action.chunk);
      }
    }
    if (!told.empty() && (cuts || launched.size() >= 8)) {
      CHECK(told.size() >= 4);
      CHECK((!cuts || told.size() == launched.size()));  // none beyond the cut, and none too few
      launched.resize(told.size());
      CHECK(told == launched);
      ++compared;
      told.clear();
    }
    if (cuts && held == 0 && round >= 20) {
      ask();
    }
  }
  CHECK(compared >= 5);
}

TEST_CASE("what was launched before it was told is not held any more, and the rest is recognised as before") {
  Matcher matcher({});
  matcher.set_initial_mode(ChunkMode::kHold);
  std::uint64_t launched = 0;
  for (int round = 0; round < 100; ++round) {
    for (const Token token : body(40, 10)) {
      for (const Action& action : matcher.feed(token, true)) {
        launched += round >= 20 && action.kind == Action::Kind::kLaunch ? action.count : 0;
      }
      if (round % 4 == 3 && token == 10 + static_cast<Token>(round) / 4) {
        matcher.forget_held();
        REQUIRE(matcher.held() == 0);
      }
    }
  }
  CHECK(launched > 80 * 40 * 6 / 10);
}

TEST_CASE("what is suspended is not told ahead") {
  MatcherOptions options;
  options.chunk_first = options.chunk_cap = 32;
  Matcher matcher(options);
  matcher.set_initial_mode(ChunkMode::kHold);
  const auto rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      for (const Token token : body(20, 10)) {
        matcher.feed(token, true);
      }
      matcher.cut();
    }
    return matcher.next_chunk().chunk;
  };
  const ChunkId told = rounds(20);
  REQUIRE(told != kNoChunk);
  for (const ChunkMode paused : {ChunkMode::kBypass, ChunkMode::kRecord}) {
    matcher.set_mode(told, paused);
    CHECK(rounds(1) == kNoChunk);
    matcher.set_mode(told, ChunkMode::kHold);
    CHECK(rounds(1) == told);
  }
}
