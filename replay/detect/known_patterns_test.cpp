#include "replay/detect/known_patterns.h"

#include <catch2/catch.hpp>
#include <random>

#include "replay/detect/matcher.h"

using namespace refrain::replay;

namespace {

MatcherOptions options() {
  MatcherOptions wanted;
  wanted.chunk_first = 4;
  wanted.chunk_cap = 16;
  return wanted;
}

/// One round of a loop: a wait, a stretch, what nobody waits for, and every third time another stretch.
void round(Matcher& matcher, int number) {
  for (Token token = 0; token < 40; ++token) {
    matcher.feed(1000 + token, true);
  }
  matcher.cut(7, false);
  for (Token token = 0; token < 25; ++token) {
    matcher.feed((number % 3 == 0 ? 2000 : 3000) + token, true, token == 24);
  }
  matcher.feed(5000, false);
  matcher.cut(8, true);
}

std::uint64_t followed_or_launched(Matcher& matcher, int rounds) {
  matcher.set_initial_mode(ChunkMode::kHold);
  for (int i = 0; i < rounds; ++i) {
    round(matcher, i);
  }
  return matcher.stats().launched_operations;
}

KnownPatterns learnt() {
  Matcher matcher(options());
  for (int i = 0; i < 60; ++i) {
    round(matcher, i);
  }
  return matcher.known();
}

}  // namespace

TEST_CASE("What was learnt is the same after it was learnt from data") {
  const KnownPatterns first = learnt();
  REQUIRE(!first.empty());
  Matcher other(options());
  other.learn(first);
  const KnownPatterns again = other.known();
  CHECK(again.patterns == first.patterns);
  CHECK(again.edges.size() == first.edges.size());
}

TEST_CASE("With what another matcher has learnt the first round is launched already") {
  const KnownPatterns known = learnt();
  Matcher fresh(options());
  CHECK(followed_or_launched(fresh, 2) == 0);
  Matcher warm(options());
  warm.learn(known);
  CHECK(followed_or_launched(warm, 2) > 60);
  CHECK(warm.stats().promoted_periods == 0);
}

TEST_CASE("A short loop is unrolled as it was before") {
  Matcher first(options());
  for (int i = 0; i < 200; ++i) {
    first.feed(static_cast<Token>(i % 3), true);
  }
  const KnownPatterns known = first.known();
  REQUIRE(known.patterns.size() == 1);
  CHECK(known.patterns.front().tokens.size() == 3);
  CHECK(known.patterns.front().loop);
  Matcher warm(options());
  warm.learn(known);
  warm.set_initial_mode(ChunkMode::kHold);
  for (int i = 0; i < 40; ++i) {
    warm.feed(static_cast<Token>(i % 3), true);
  }
  CHECK(warm.stats().launched_operations != 0);
  CHECK(warm.stats().promoted_periods == 0);
  CHECK(warm.known() == known);
}

TEST_CASE("What a lane has seen itself is worth more than what another run has learnt") {
  const KnownPatterns known = learnt();
  Matcher matcher(options());
  matcher.feed(1, true);
  matcher.learn(known);
  CHECK(matcher.known().empty());
}

TEST_CASE("What no run uses does not become more and more") {
  MatcherOptions large = options();
  large.max_nodes = 1U << 18U;
  KnownPatterns known;
  for (Token pattern = 0; pattern < 200; ++pattern) {
    KnownPatterns::Pattern made{std::vector<Token>(1000, 0), std::vector<Cut>(1000, Cut::kNone)};
    for (Token token = 0; token < 1000; ++token) {
      made.tokens[token] = 1'000'000 + pattern * 1000 + token;
    }
    known.patterns.push_back(made);
  }
  Matcher matcher(large);
  matcher.learn(known);
  const KnownPatterns left = matcher.known();
  CHECK(left.patterns.size() == 65);
  CHECK(left.patterns.back() == known.patterns.back());
}

TEST_CASE("Data that makes no sense is left out, and nothing beyond the bounds is taken") {
  MatcherOptions small = options();
  small.max_nodes = 200;
  KnownPatterns known = learnt();
  std::mt19937 generator(static_cast<std::uint32_t>(GENERATE(range(1, 40))));
  const auto random = [&generator] { return static_cast<std::uint32_t>(generator()); };
  for (int change = 0; change < 30; ++change) {
    KnownPatterns::Pattern& pattern = known.patterns[random() % known.patterns.size()];
    const std::uint32_t any = random() % 2 == 0 ? random() % 100 : random();
    switch (random() % 8) {
      case 0: pattern.next = any; break;
      case 1: pattern.inner = any; break;
      case 2: pattern.loop = !pattern.loop; break;
      case 3: pattern.cuts.resize(any % 100); break;
      case 4: pattern.tokens.resize(any % 100); break;
      case 5: std::fill(pattern.cuts.begin(), pattern.cuts.end(), static_cast<Cut>(any % 4)); break;
      case 6: known.patterns.push_back(pattern); break;
      default:
        if (!known.edges.empty()) {
          KnownPatterns::Edge& edge = known.edges[random() % known.edges.size()];
          (random() % 2 == 0 ? edge.from : edge.to) = any;
          (random() % 2 == 0 ? edge.from_offset : edge.to_offset) = any;
          edge.uses = any;
        }
    }
  }
  for (const MatcherOptions& each : {options(), small}) {
    Matcher matcher(each);
    matcher.learn(known);
    CHECK(matcher.stats().nodes <= each.max_nodes);
    followed_or_launched(matcher, 30);
    CHECK(matcher.stats().nodes <= each.max_nodes);
  }
}
