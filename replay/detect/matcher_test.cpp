// What a matcher finds in what is submitted, holds and launches, and that each operation leaves it once and in order.
#include "replay/detect/matcher.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <vector>

#include "replay/lane/test_lane.h"

using namespace refrain::replay;

namespace {

/// A program at random: loops, nested loops, variants, host calls, unknown operations, noise.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 5; ++i) {
      bodies_.push_back(make_body());
    }
  }
  Token next() {
    while (place_ == current_.size()) {
      place_ = 0;
      choose();
    }
    return current_[place_++];
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::vector<Token> make_body() {
    std::vector<Token> result(1 + below(1U << below(9)));
    const std::uint64_t kernels = 1 + below(20);
    for (Token& token : result) {
      token = below(25) == 0 ? 0 : 1 + below(kernels);
    }
    return result;
  }
  void choose() {
    current_ = bodies_[below(40) == 0 ? below(bodies_.size()) : favourite_];
    switch (below(60)) {
      case 0: favourite_ = below(bodies_.size()); break;
      case 1: bodies_[below(bodies_.size())] = make_body(); break;
      case 2:
        current_.insert(current_.begin() + static_cast<std::ptrdiff_t>(below(current_.size() + 1)), random_());
        break;
      case 3: current_.erase(current_.begin() + static_cast<std::ptrdiff_t>(below(current_.size()))); break;
      case 4: current_[below(current_.size())] = random_(); break;
      case 5: current_ = make_body(); break;
      case 6: bodies_[favourite_][below(bodies_[favourite_].size())] = 1 + below(20); break;
      default: break;
    }
  }

  std::mt19937_64 random_;
  std::vector<std::vector<Token>> bodies_;
  std::vector<Token> current_;
  std::size_t place_ = 0;
  std::uint64_t favourite_ = 0;
};

}  // namespace

TEST_CASE("whatever comes, every operation leaves once, in order, and in chunks that are exactly what they are") {
  const std::uint64_t seed = GENERATE(range(1, 121));
  std::mt19937_64 random(seed * 7919);
  const auto pick = [&](std::initializer_list<std::uint32_t> values) {
    return values.begin()[random() % values.size()];
  };
  MatcherOptions options;
  options.chunk_first = pick({1, 2, 8, 8, 8, 100, 500});
  options.chunk_growth = pick({1, 2, 4, 4, 4, 64});
  options.chunk_cap = pick({1, 2, 7, 16, 128, 128, 128, 1000});
  options.history = pick({64, 256, 1024, 65536});
  options.max_nodes = pick({64, 500, 3000, 131072, 131072});
  options.min_chunk = pick({1, 2, 2, 2, 5, 200});
  const bool ready = seed % 2 == 0;
  TestLane lane(options, ready ? ChunkMode::kHold : ChunkMode::kRecord);
  lane.build_time = random() % 500;
  if (seed % 3 == 0) {
    lane.ending = {3, 7};
  }
  Program program(seed);
  for (int i = 0; i < 30000; ++i) {
    const Token token = program.next();
    if (token == 0) {
      lane.cut(random() % 3 == 0 ? 5 : 0);
    } else {
      lane.feed(token, random() % 300 != 0);
    }
    switch (random() % 2000) {
      case 0: lane.expire(); break;
      case 1: lane.matcher.set_detecting(random() % 4 != 0); break;
      case 2:
        if (ready) {
          lane.matcher.set_mode(static_cast<ChunkId>(random() % 200), static_cast<ChunkMode>(random() % 3));
        }
        break;
      default: break;
    }
  }
  lane.cut();
  CHECK(lane.matcher.held() == 0);
  const MatcherStats stats = lane.matcher.stats();
  CHECK(stats.operations == lane.operations);
  CHECK(stats.launches == lane.launches);
  CHECK(stats.launched_operations == lane.launched.size());
  CHECK(stats.largest_hold <= std::max(options.chunk_cap, 1U));
  CHECK(stats.nodes <= std::max(options.max_nodes, 64U));
}

TEST_CASE("a chunk is followed once, built, and then held, never reported complete with a gap") {
  TestLane lane({}, ChunkMode::kRecord);
  lane.build_time = 400;
  const auto period = body(100, 10);
  for (int i = 0; i < 100; ++i) {
    lane.feed_all(period);
  }
  CHECK(lane.completed.size() == 1);
  CHECK(lane.launched_by.size() == 1);
  CHECK(lane.launched.size() >= 92UL * 100);
  CHECK(lane.coverage(1000) > 0.99);
}

TEST_CASE("a longer stretch that is noticed in the middle of a chunk does not make one call issue what is held") {
  // One kernel again and again, a wait after 1000: first short periods are seen, then the long one.
  Matcher matcher({.chunk_first = 8, .chunk_growth = 2, .chunk_cap = 128});
  matcher.set_initial_mode(ChunkMode::kRecord);
  std::uint32_t most = 0, held = 0;
  for (int iteration = 0; iteration < 12; ++iteration) {
    for (int i = 0; i < 1000; ++i) {
      std::uint32_t issued = 0;
      for (const Action& action : matcher.feed(1, true)) {
        issued += action.kind == Action::Kind::kIssue ? action.count : 0;
      }
      most = std::max(most, issued);
      held = std::max(held, matcher.held());
      const Following& following = matcher.following();
      if (following.chunk != kNoChunk && following.complete) {
        matcher.set_mode(following.chunk, ChunkMode::kHold);  // followed once, and built
      }
    }
    static_cast<void>(matcher.cut(refrain::capture::kHostCallToken));
  }
  CHECK(held > 64);
  CHECK(most <= 2);
}

TEST_CASE("chunks that are declined are followed, and those after them are held") {
  MatcherOptions options;
  TestLane lane(options);
  auto period = body(400, 10);
  period.push_back(0);
  for (int i = 0; i < 5; ++i) {
    lane.feed_all(period);
  }
  std::vector<ChunkId> small;
  for (const auto& [chunk, times] : lane.launched_by) {
    if (lane.matcher.tokens_of(chunk).size() < 128) {
      small.push_back(chunk);
    }
  }
  REQUIRE(small.size() >= 2);  // the first after the host call, and the second
  for (const ChunkId chunk : small) {
    lane.matcher.set_mode(chunk, ChunkMode::kBypass);
  }
  lane.launched.clear();
  const std::uint64_t before = lane.operations;
  for (int i = 0; i < 10; ++i) {
    lane.feed_all(period);
  }
  // 8 + 32 declined, 128 + 128 held, and the tail of 104 declined.
  CHECK(lane.launched.size() == 10UL * 256);
  CHECK(lane.operations - before == 4000);
}

TEST_CASE("parts of a chunk that is broken again and again are followed and built as well") {
  TestLane lane({}, ChunkMode::kRecord);
  lane.build_time = 50;
  const auto period = body(128, 10);
  std::mt19937_64 random(3);
  Token unique = 1000000;
  for (int i = 0; i < 3000; ++i) {
    auto now = period;
    if (random() % 10 == 0) {
      now.insert(now.begin() + 48, ++unique);
    }
    lane.feed_all(now);
  }
  // Without the parts, a tenth of the periods would be covered only behind the disturbance: 96 %.
  CHECK(lane.coverage(lane.operations / 2) > 0.985);
}

TEST_CASE("between two cuts the same chunks come each time, from the first operation on") {
  const std::uint32_t before = GENERATE(0, 1, 7, 20, 30, 50);
  TestLane lane({});
  auto period = body(40, 10);
  period.push_back(0);
  const auto other = body(23, 100);
  period.insert(period.end(), other.begin(), other.end());
  period.push_back(0);
  lane.feed_all(std::span(period).last(before));  // a program may be joined anywhere
  for (int i = 0; i < 20; ++i) {
    lane.feed_all(period);
  }
  lane.launched_by.clear();
  for (int i = 0; i < 10; ++i) {
    lane.feed_all(period);
  }
  std::multiset<std::size_t> lengths;
  for (const auto& [chunk, times] : lane.launched_by) {
    CHECK(times == 10);
    lengths.insert(lane.matcher.tokens_of(chunk).size());
  }
  CHECK(lengths == std::multiset<std::size_t>{8, 32, 8, 15});
}

TEST_CASE("where it is not certain what a unique operation came instead of, the history is left alone") {
  // Two thirds of the body are one kernel many times: one of them more or less cannot be told at once.
  std::vector<Token> period(60, 5);
  const auto rest = body(30, 10);
  period.insert(period.end(), rest.begin(), rest.end());
  TestLane lane({});
  std::mt19937_64 random(4);
  Token unique = 1000000;
  for (int i = 0; i < 1000; ++i) {
    auto now = period;
    if (random() % 3 == 0) {
      now[random() % 50] = ++unique;
    }
    lane.feed_all(now);
  }
  CHECK(lane.matcher.stats().nodes < 1000);
  CHECK(lane.matcher.stats().promoted_periods <= 3);
  CHECK(lane.coverage(lane.operations / 2) > 0.97);
}

TEST_CASE("expired work leaves, and the rest of the chunk is covered all the same") {
  TestLane lane({});
  const auto period = body(100, 10);
  for (int i = 0; i < 4; ++i) {
    lane.feed_all(period);
  }
  lane.launched.clear();
  const std::uint64_t before = lane.operations;
  for (int i = 0; i < 300; ++i) {
    lane.feed_all(period);
    if (i % 10 == 0) {
      lane.feed_all(std::span(period).first(64));
      lane.expire();
      lane.feed_all(std::span(period).subspan(64));
    }
  }
  lane.cut();
  CHECK(static_cast<double>(lane.launched.size()) > 0.99 * static_cast<double>(lane.operations - before));
}

TEST_CASE("where work expires every time, the chunk that does not complete is not tried every time") {
  TestLane lane({});
  const auto period = body(100, 10);
  for (int i = 0; i < 4; ++i) {
    lane.feed_all(period);
  }
  for (int i = 0; i < 300; ++i) {
    lane.feed_all(std::span(period).first(30));
    lane.expire();
    lane.feed_all(std::span(period).subspan(30));
  }
  const std::uint64_t launched = lane.launched.size();
  std::uint64_t held_at_expiry = 0;
  for (int i = 0; i < 100; ++i) {
    lane.feed_all(std::span(period).first(30));
    held_at_expiry += lane.matcher.held();
    lane.expire();
    lane.feed_all(std::span(period).subspan(30));
  }
  CHECK(held_at_expiry < 1500);  // of 3000
  CHECK(lane.launched.size() - launched > 9000);
}

TEST_CASE("a cut with another identity is another program") {
  TestLane lane({});
  for (int i = 0; i < 200; ++i) {
    lane.feed_all(body(20, 10));
    lane.cut(i % 2 == 0 ? 1 : 2);
    lane.feed_all(i % 2 == 0 ? body(12, 100) : body(30, 200));
    lane.cut(3);
  }
  CHECK(lane.coverage(lane.operations / 2) > 0.99);
  CHECK(lane.matcher.stats().side_exits <= 10);
}

TEST_CASE("a loop that goes round between two cuts is launched in the same few chunks each time") {
  // As the program of test/gpu/launch_bound does it with --fork --no-sync: ten rounds, then a wait.
  MatcherOptions options;
  options.chunk_first = 32;
  options.chunk_growth = 2;
  TestLane lane(options, ChunkMode::kRecord);
  const auto intervals = [&lane](int count) {
    for (int interval = 0; interval < count; ++interval) {
      for (Token token = 0; token < 4100; ++token) {
        lane.feed(token % 410 + 1);
      }
      lane.cut();
    }
  };
  intervals(8);
  const std::uint64_t chunks = lane.matcher.stats().chunks;
  const std::uint64_t before = lane.launched.size();
  intervals(1);
  CHECK(lane.launched.size() - before == 4100);
  // Of the loop alone, behind the first cut and of the whole stretch together; with pieces of 128 alone it is 44.
  CHECK(chunks <= 24);
}

TEST_CASE("an unholdable operation is a cut inside the period and never in a chunk") {
  TestLane lane({});
  for (int i = 0; i < 50; ++i) {
    lane.feed_all(body(20, 10));
    lane.feed(5, false);
    lane.feed_all(body(20, 40));
  }
  lane.cut();
  CHECK(lane.coverage(lane.operations / 2) == Approx(40.0 / 41.0).epsilon(0.002));
  for (const auto& [chunk, times] : lane.launched_by) {
    for (const Token token : lane.matcher.tokens_of(chunk)) {
      CHECK(token != 5);
    }
  }
}

TEST_CASE("an operation behind which nothing is held is the last one of its chunk") {
  TestLane lane({});
  lane.ending = {5, 6};
  for (int i = 0; i < 100; ++i) {
    lane.feed_all(body(4, 10));
    lane.feed(5);
    lane.feed_all(body(40, 20));
    lane.feed(6);
    if (i % 10 == 9) {
      lane.cut();
    }
  }
  CHECK(lane.coverage(lane.operations / 2) > 0.99);
  std::set<Token> last;
  for (const auto& [chunk, times] : lane.launched_by) {
    last.insert(lane.matcher.tokens_of(chunk).back());
  }
  CHECK(last.contains(5));
  CHECK(last.contains(6));
}

TEST_CASE("nothing stays held behind an operation that ends the stretch only from now on") {
  TestLane lane({});
  for (int i = 0; i < 50; ++i) {
    if (i == 25) {
      lane.cut();
      lane.ending = {15};  // TestLane sees to it that nothing is held then
    }
    lane.feed_all(body(20, 10));
  }
}

TEST_CASE("with detection off nothing new is learnt, and what is known is still used") {
  TestLane lane({});
  for (int i = 0; i < 10; ++i) {
    lane.feed_all(body(50, 10));
  }
  lane.matcher.set_detecting(false);
  const MatcherStats before = lane.matcher.stats();
  for (int i = 0; i < 100; ++i) {
    lane.feed_all(body(70, 1000));
  }
  CHECK(lane.matcher.stats().launches == before.launches);
  CHECK(lane.matcher.stats().nodes == before.nodes);
  for (int i = 0; i < 100; ++i) {
    lane.feed_all(body(50, 10));
  }
  CHECK(lane.matcher.stats().launched_operations - before.launched_operations > 4800);
  lane.matcher.set_detecting(true);
  for (int i = 0; i < 10; ++i) {
    lane.feed_all(body(70, 1000));
  }
  CHECK(lane.matcher.stats().nodes > before.nodes);
}

TEST_CASE("sequences that are over do not fill all the room") {
  MatcherOptions options;
  options.history = 256;
  TestLane lane(options);
  std::mt19937_64 random(6);
  for (int round = 0; round < 400; ++round) {
    const auto period = body(static_cast<std::uint32_t>(50 + random() % 300), random());
    for (int i = 0; i < 6; ++i) {
      lane.feed_all(period);
    }
  }
  CHECK(lane.matcher.stats().nodes < 8000);
  // One that goes on is known all the time.
  const auto last = body(60, 1);
  for (int i = 0; i < 10; ++i) {
    lane.feed_all(last);
  }
  const MatcherStats before = lane.matcher.stats();
  for (int i = 0; i < 400; ++i) {
    lane.feed_all(last);
  }
  CHECK(lane.matcher.stats().launched_operations - before.launched_operations > 400 * 60 * 95 / 100);
}

TEST_CASE("memory stays bounded when everything changes all the time") {
  MatcherOptions options;
  options.max_nodes = 5000;
  options.history = 4096;
  TestLane lane(options);
  std::mt19937_64 random(5);
  std::size_t early = 0;
  std::uint64_t evicted = 0;
  for (int round = 0; round < 400; ++round) {
    const auto period = body(static_cast<std::uint32_t>(50 + random() % 300), random());
    for (int i = 0; i < 6; ++i) {
      lane.feed_all(period);
    }
    evicted += lane.matcher.take_evicted().size();
    REQUIRE(lane.matcher.stats().nodes <= 5000);
    if (round == 100) {
      early = lane.matcher.stats().memory_bytes;
    }
  }
  CHECK(evicted > 500);
  CHECK(lane.matcher.stats().memory_bytes < early * 5 / 4);
}
