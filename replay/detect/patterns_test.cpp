#include "replay/detect/patterns.h"

#include <catch2/catch.hpp>
#include <set>
#include <utility>
#include <vector>

using namespace refrain::replay;

namespace {

constexpr Token kQuiet = ~Token{0};

struct Rig {
  explicit Rig(const MatcherOptions& given = {})
      : options(given), history(options.history), chunks(1024), store(options, history, chunks) {}

  /// 0 is a wait, kQuiet a cut at which nobody waits.
  void push(const std::vector<Token>& values) {
    for (const Token value : values) {
      history.push(value, value == 0 ? Cut::kWait : value == kQuiet ? Cut::kQuiet : Cut::kNone);
    }
  }
  std::vector<std::uint32_t> main_lengths(const Pattern& pattern) const {
    std::vector<std::uint32_t> lengths;
    for (std::uint32_t offset = 0; offset < pattern.planned; offset = pattern.spots[offset].main.end) {
      CHECK(pattern.spots[offset].main.start == offset);
      if (pattern.tokens[offset] != 0) {
        lengths.push_back(pattern.spots[offset].main.length());
      }
    }
    return lengths;
  }

  MatcherOptions options;
  History history;
  ChunkTable chunks;
  PatternStore store;
};

std::vector<Token> numbers(std::uint32_t count, Token first = 1) {
  std::vector<Token> result(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    result[i] = first + i;
  }
  return result;
}

std::vector<Token> operator+(std::vector<Token> a, const std::vector<Token>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("any stretch of a chunk is a few of its parts, and never one that reaches outside") {
  const std::uint32_t unit = GENERATE(0, 1, 3, 7, 16);
  const std::uint32_t length = unit == 0 ? GENERATE(1, 2, 3, 37, 100, 128) : unit * GENERATE(1, 2, 5, 8);
  const Range whole{10, 10 + length};
  for (std::uint32_t start = whole.start; start < whole.end; ++start) {
    for (std::uint32_t end = start + 1; end <= whole.end; ++end) {
      std::uint32_t count = 0;
      for (std::uint32_t at = start; at < end; ++count) {
        const Range part = part_within(whole, at, end, unit);
        REQUIRE(part.start == at);
        REQUIRE(part.end <= end);
        REQUIRE(part.length() > 0);
        at = part.end;
      }
      REQUIRE(count <= 14);
    }
  }
  // Whole periods are kept together.
  if (unit > 1 && length > unit) {
    CHECK(left_part(whole, unit).length() % unit == 0);
  }
}

TEST_CASE("after a cut chunks start small and grow, and none is too short to be one") {
  Rig rig;
  const auto [run, expected] = GENERATE(table<std::uint32_t, std::vector<std::uint32_t>>({
      {1, {1}},
      {5, {5}},
      {9, {9}},
      {10, {8, 2}},
      {41, {8, 33}},
      {42, {8, 32, 2}},
      {169, {8, 32, 65, 64}},
      {500, {8, 32, 128, 128, 128, 76}},
  }));
  const std::vector<Token> period = numbers(run) + std::vector<Token>{0};
  rig.push(std::vector<Token>{0} + period + period);
  const auto length = static_cast<std::uint32_t>(period.size());
  Pattern* pattern = rig.store.add(rig.history.size() - length, length, length, true, nullptr);
  REQUIRE(pattern != nullptr);
  while (rig.store.busy()) {
    rig.store.work(nullptr);
  }
  std::uint32_t sum = 0;
  for (const std::uint32_t main : rig.main_lengths(*pattern)) {
    sum += main;
    CHECK(main <= rig.options.chunk_cap);
    CHECK((main >= rig.options.min_chunk || run == 1));
  }
  CHECK(sum == run);
  if (run != 169) {
    CHECK(rig.main_lengths(*pattern) == expected);
  }
  CHECK(rig.main_lengths(*pattern).size() == expected.size());
}

TEST_CASE("short loops are unrolled to about the cap, long ones are cut into pieces of the cap") {
  Rig rig;
  const std::uint32_t period = GENERATE(1, 3, 16, 60, 65, 100, 128, 129, 300);
  rig.push(numbers(period) + numbers(period));
  Pattern* pattern = rig.store.add(rig.history.size() - period, period, period, false, nullptr);
  REQUIRE(pattern != nullptr);
  while (rig.store.busy()) {
    rig.store.work(nullptr);
  }
  CHECK(pattern->length % period == 0);
  CHECK(pattern->complete());
  const auto lengths = rig.main_lengths(*pattern);
  if (period <= 64) {
    CHECK(lengths == std::vector<std::uint32_t>{128 / period * period});
  } else if (period <= 128) {
    CHECK(lengths == std::vector<std::uint32_t>{period});
  } else {
    CHECK(lengths.front() >= 64);
  }
  for (std::uint32_t i = 0; i < pattern->length; ++i) {
    REQUIRE(pattern->tokens[i] == i % period + 1);
  }
}

TEST_CASE("rounds of a loop are divided into pieces as equal as can be, which repeat") {
  const std::uint32_t round = GENERATE(1, 2, 3, 20, 100, 127, 128, 129, 410, 1000, 4099, 100'000);
  const std::uint32_t most = GENERATE(1, 2, 7, 34, 128, 256, 1000);
  CAPTURE(round, most);
  const Rounds rounds = Rounds::of(round, most);
  CHECK(rounds.tokens % round == 0);
  CHECK(std::uint64_t{rounds.pieces} * most * 100 <= std::uint64_t{rounds.tokens} * 110);
  CHECK(rounds.pieces <= 12 * (round / most + 1));
  std::uint32_t offset = 0;
  for (std::uint32_t piece = 0; piece < rounds.pieces; ++piece) {
    const std::uint32_t end = rounds.end_of(offset);
    REQUIRE(end > offset);
    REQUIRE(end - offset <= most);
    REQUIRE(end - offset >= rounds.tokens / rounds.pieces);
    if (rounds.tokens < 100'000) {
      REQUIRE(rounds.end_of(offset + rounds.tokens) == end + rounds.tokens);
    }
    offset = end;
  }
  CHECK(offset == rounds.tokens);
}

TEST_CASE("where a loop goes round in a stretch, the same few chunks come again and again") {
  const auto [inner, lengths, most_different] = GENERATE(table<std::uint32_t, ChunkLengths, std::size_t>({
      {410, {32, 2, 128, 0}, 11},  // two that grow, seven in two rounds, what is left over
      {410, {32, 2, 256, 0}, 10},
      {410, {34, 1, 34, 0}, 15},  // thirteen in a round
      {100, {8, 4, 128, 0}, 8},
  }));
  MatcherOptions options;
  options.chunk_first = lengths.first;
  options.chunk_growth = lengths.growth;
  const std::uint32_t most = options.chunk_cap = lengths.most;
  Rig rig(options);
  const auto round = numbers(inner, 100);
  std::vector<Token> interval = numbers(5);  // what the program does before
  for (int i = 0; i < 20; ++i) {
    interval = interval + round;
  }
  interval.push_back(0);
  rig.push(interval + interval);
  const auto length = static_cast<std::uint32_t>(interval.size());
  const bool known = GENERATE(true, false);
  CAPTURE(inner, most, known);
  Pattern* pattern = rig.store.add(length, length, length, true, nullptr, known ? inner : 0);
  REQUIRE(pattern != nullptr);
  while (rig.store.busy()) {
    rig.store.work(nullptr);
  }
  const auto different = [&] {
    std::set<std::vector<Token>> chunks;
    std::uint32_t at = 0;
    for (const std::uint32_t chunk : rig.main_lengths(*pattern)) {
      CHECK(chunk <= most);
      chunks.insert({pattern->tokens + at, pattern->tokens + at + chunk});
      at += chunk;
    }
    CHECK(at == length - 1);
    return chunks.size();
  };
  CHECK((different() <= most_different) == known);
  if (!known) {
    return;
  }
  // Divided by another plan, and by this one again.
  const MatcherOptions before = std::exchange(rig.options, MatcherOptions{});
  rig.store.use_lengths(1);
  rig.store.run_begins(*pattern, 0);
  rig.options = before;
  rig.store.use_lengths(2);
  rig.store.run_begins(*pattern, 0);
  CHECK(different() <= most_different);
}

TEST_CASE("other lengths divide one stretch of a loop anew, and those behind its waits stay divided as they were") {
  Rig rig;
  const std::vector<Token> period =
      numbers(41) + std::vector<Token>{0} + numbers(60, 100) + std::vector<Token>{0} + numbers(30, 200);
  const std::vector<Token> wait{0};
  rig.push(wait + period + wait + period + wait);
  const auto length = static_cast<std::uint32_t>(period.size()) + 1;
  Pattern* pattern = rig.store.add(rig.history.size() - length, length, length, true, nullptr);
  REQUIRE(pattern != nullptr);
  REQUIRE(pattern->complete());
  REQUIRE(pattern->planned == length);
  REQUIRE(rig.main_lengths(*pattern) == std::vector<std::uint32_t>{8, 33, 8, 32, 20, 8, 22});
  rig.options.chunk_first = 16;
  rig.store.use_lengths(1);
  rig.store.run_begins(*pattern, 0);
  CHECK(pattern->planned == length);
  CHECK(rig.main_lengths(*pattern) == std::vector<std::uint32_t>{16, 25, 8, 32, 20, 8, 22});
  rig.store.run_begins(*pattern, 42);
  CHECK(pattern->planned == length);
  CHECK(rig.main_lengths(*pattern) == std::vector<std::uint32_t>{16, 25, 16, 44, 8, 22});
}

TEST_CASE("a long period is built in small steps, and can be used from its beginning meanwhile") {
  Rig rig;
  rig.push(numbers(20000) + numbers(20000));
  Pattern* pattern = rig.store.add(20000, 20000, 20000, false, nullptr);
  REQUIRE(pattern != nullptr);
  CHECK(pattern->built <= 256);
  CHECK(pattern->planned >= 128);
  std::uint32_t steps = 0;
  while (rig.store.busy()) {
    const std::uint32_t before = pattern->built;
    rig.store.work(pattern);
    ++steps;
    REQUIRE(pattern->built - before <= 8);
  }
  CHECK(pattern->complete());
  CHECK(steps <= 20000 / 8 + 1);
}

TEST_CASE("a period whose beginning the history forgets while it is built is read from the next one") {
  MatcherOptions options;
  options.history = 4096;
  Rig rig(options);
  const auto period = numbers(1500);
  rig.push(period + period + period);
  const std::uint64_t source = 1500;  // the second of three
  Pattern* pattern = rig.store.add(source, 1500, 1500, false, nullptr);
  REQUIRE(pattern != nullptr);
  rig.push(numbers(2000, 100000));
  while (rig.store.busy()) {
    rig.store.work(pattern);
  }
  REQUIRE(pattern->complete());
  CHECK(std::vector<Token>(pattern->tokens, pattern->tokens + 1500) == period);
}

TEST_CASE("a pattern whose source is gone is given up") {
  MatcherOptions options;
  options.history = 1024;
  Rig rig(options);
  rig.push(numbers(1000));
  Pattern* pattern = rig.store.add(0, 1000, 0, false, nullptr);
  REQUIRE(pattern != nullptr);
  const std::uint32_t id = pattern->id;
  rig.push(numbers(1024, 5000));
  for (int i = 0; i < 10; ++i) {
    rig.store.work(nullptr);
  }
  CHECK(rig.store.find(id) == nullptr);
  CHECK(rig.store.nodes() == 0);
  CHECK_FALSE(rig.store.busy());
}

TEST_CASE("places are found by their last six values, in a loop also across its end") {
  Rig rig;
  rig.push(numbers(40) + numbers(40));
  Pattern* pattern = rig.store.add(40, 40, 40, false, nullptr);
  REQUIRE(pattern != nullptr);
  for (std::uint32_t i = 0; i < 80; ++i) {
    rig.history.push(i % 40 + 1, Cut::kNone);
    if (i >= 6) {
      const Place place = rig.store.look_up();
      REQUIRE(place.pattern == pattern);
      CHECK(place.offset == (i + 1) % 40);
    }
  }
  rig.history.push(77, Cut::kNone);
  CHECK(rig.store.look_up().pattern == nullptr);
}

TEST_CASE("the least recently used patterns make room, and the chunks only they had are evicted") {
  MatcherOptions options;
  options.max_nodes = 1000;
  Rig rig(options);
  std::vector<Pattern*> patterns;
  std::vector<std::uint32_t> ids;
  std::set<ChunkId> chunk_ids;
  for (Token i = 0; i < 10; ++i) {
    rig.push(numbers(100, 1000 * (i + 1)));
    Pattern* pattern = rig.store.add(rig.history.size() - 100, 100, 0, false, nullptr);
    REQUIRE(pattern != nullptr);
    ChunkSite* site = rig.store.site(*pattern, {0, 64});
    REQUIRE(site != nullptr);
    CHECK(site == rig.store.site(*pattern, {0, 64}));
    CHECK(rig.store.find_site(*pattern, {0, 32}) == nullptr);
    chunk_ids.insert(site->id);
    ids.push_back(pattern->id);
    patterns.push_back(pattern);
  }
  CHECK(rig.store.nodes() == 1000);
  rig.store.touch(*patterns[0]);
  rig.push(numbers(250, 50000));
  CHECK(rig.store.add(rig.history.size() - 250, 250, 0, false, patterns[1]) != nullptr);
  CHECK(rig.store.nodes() <= 1000);
  CHECK(rig.store.find(ids[0]) == patterns[0]);
  CHECK(rig.store.find(ids[1]) == patterns[1]);  // it was to be kept
  CHECK(rig.store.find(ids[2]) == nullptr);
  CHECK(rig.store.find(ids[4]) == nullptr);
  CHECK(rig.store.find(ids[5]) == patterns[5]);
  for (int i = 0; i < 50; ++i) {
    rig.store.work(nullptr);
  }
  const auto evicted = rig.chunks.take_evicted();
  CHECK(evicted.size() == 3);
  for (const ChunkId id : evicted) {
    CHECK(chunk_ids.count(id) == 1);
    CHECK(rig.chunks.tokens_of(id).empty());
  }
  CHECK(rig.store.add(0, 1001, 0, false, nullptr) == nullptr);
}

TEST_CASE("edges lead on, are forgotten with their patterns, and divide chunks where the stream branches") {
  Rig rig;
  rig.push(numbers(100) + numbers(100, 500));
  Pattern* from = rig.store.add(0, 100, 0, false, nullptr);
  Pattern* to = rig.store.add(100, 100, 0, false, nullptr);
  REQUIRE(from != nullptr);
  REQUIRE(to != nullptr);
  CHECK(rig.store.follow_edge(*from, 50, 530).pattern == nullptr);
  rig.store.learn_edge(*from, 50, 530, {to, 31});
  for (int i = 0; i < 4; ++i) {
    const Place place = rig.store.follow_edge(*from, 50, 530);
    CHECK(place.pattern == to);
    CHECK(place.offset == 30);
  }
  CHECK(rig.store.follow_edge(*from, 51, 530).pattern == nullptr);
  CHECK(rig.store.follow_edge(*from, 50, 531).pattern == nullptr);
  CHECK(rig.main_lengths(*from) == std::vector<std::uint32_t>{50, 50});
  CHECK(rig.main_lengths(*to) == std::vector<std::uint32_t>{30, 70});
}
