// What becomes of one repeating stretch, without an engine around it. Times are told, not taken: seconds, beside which
// what the test itself takes is nothing.
#include "replay/graph/graph_entry.h"

#include <catch2/catch.hpp>
#include <vector>

#include "replay/engine_test_support.h"
#include "replay/graph/graph_variants.h"
#include "replay/graph/test_occurrence.h"
#include "replay/lane/test_lane.h"

namespace refrain::replay {
namespace {

using test::kernels;
using test::views;
using State = GraphEntry::State;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kEager = 10 * kSecond, kSlower = 12 * kSecond;  ///< an occurrence; not by half as much again

std::unique_ptr<Executable> executable_of(test::ArithmeticBackend& backend, const Occurrence& work) {
  std::string why;
  auto result = Executable::build(work, test::quiet(false), backend, &why);
  INFO(why);
  REQUIRE(result != nullptr);
  return result;
}

/// A stretch of three kernels.
struct Stretch {
  explicit Stretch(const GraphEntry::Limits& limits) : entry(1, {10, 11, 12}, limits) {
    backend.can_update = limits.can_update;
  }
  /// An occurrence was issued eagerly; what is asked for is built.
  void come(const Occurrence& work) {
    if (entry.recorded(views(work), kEager, true) == GraphEntry::Wish::kBuild) {
      CHECK(entry.built(executable_of(backend, work), "") == nullptr);
    }
  }
  Launched launch(const Occurrence& work, std::uint64_t hold_ns = 0, bool proven = false) {
    WindowEvents window;
    const GraphLaunch result = entry.launch({backend, hooks, window}, views(work), hold_ns, proven);
    if (result.wants_build) {
      CHECK(entry.built(executable_of(backend, work), "") == nullptr);
    }
    return result.launch;
  }
  Launched launch_predicted(const Occurrence& occurrence) {
    WindowEvents window;
    return entry.launch_predicted({backend, hooks, window}, occurrence, {}, 0, false, 0).launch;
  }
  void make_ready(const Occurrence& work) {
    for (int i = 0; i < 20 && entry.state() == State::kRecording; ++i) {
      come(work);
    }
    REQUIRE(entry.state() == State::kReady);
  }

  test::ArithmeticBackend backend;
  test::TestHooks hooks{backend};
  StateChanges changes;
  GraphEntry entry;
};

const Occurrence kSame = kernels({1, 2, 3});

TEST_CASE("a graph that is a little slower is measured once more, and then declined") {
  Stretch stretch({});
  int launches = 0;
  for (int i = 0; i < 1000 && stretch.entry.state() != State::kBypassing; ++i) {
    if (stretch.entry.state() == State::kRecording) {
      stretch.come(kSame);
    } else {
      launches += stretch.launch(kSame, kSlower) == Launched::kDone ? 1 : 0;
    }
  }
  const auto summary = stretch.entry.summary();
  CHECK(summary.state == State::kBypassing);
  CHECK(summary.decline == GraphEntry::Decline::kCost);
  CHECK(summary.reason == "it is not faster as a graph");
  CHECK(summary.eager_ns == 10'000'000'000);
  CHECK(summary.replay_ns > summary.eager_ns);
  CHECK(launches > 4);  // not at once: the machine may have been slower just then
  CHECK(launches < 20);
}

TEST_CASE("where whole intervals are known to be faster with graphs, launches that take longer end none") {
  Stretch stretch({});
  stretch.make_ready(kSame);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(stretch.launch(kSame, kSlower, true) == Launched::kDone);
  }
  CHECK(stretch.entry.state() == State::kReady);
}

TEST_CASE("what comes while its graph is being made is counted as too early") {
  Stretch stretch({.gate = false, .variants = 2, .can_update = true});
  REQUIRE(stretch.entry.recorded(views(kSame), kEager, true) == GraphEntry::Wish::kBuild);
  for (int i = 0; i < 3; ++i) {
    CHECK(stretch.entry.recorded(views(kSame), kEager, true) == GraphEntry::Wish::kNothing);
  }
  static_cast<void>(stretch.entry.built(executable_of(stretch.backend, kSame), ""));
  stretch.make_ready(kSame);
  REQUIRE(stretch.launch(kSame) == Launched::kDone);
  const auto summary = stretch.entry.summary();
  CHECK(summary.recorded == 5);
  CHECK(summary.too_early == 3);
}

TEST_CASE("a graph that is never to be replayed again does not come back") {
  Stretch stretch({.gate = false});
  stretch.make_ready(kSame);
  stretch.entry.retire(GraphEntry::Decline::kDiffers, "it computes something else");
  for (int i = 0; i < 5000; ++i) {
    stretch.entry.bypassed();
  }
  CHECK(stretch.entry.state() == State::kBypassing);
  CHECK(stretch.entry.summary().reason == "it computes something else");
  CHECK(stretch.launch(kSame) == Launched::kIssue);
}

TEST_CASE(
    "a stretch whose arguments never fit four times in a row is given up, and none that was launched in between") {
  const bool launched_between = GENERATE(false, true);
  Stretch stretch({.gate = false});
  std::uint64_t value = 100;
  int rounds = 0;
  for (; rounds < 10 && stretch.entry.state() != State::kBypassing; ++rounds) {
    stretch.make_ready(kSame);
    for (int i = 0; launched_between && i < 4; ++i) {
      CHECK(stretch.launch(kSame) == Launched::kDone);
    }
    while (stretch.entry.state() == State::kReady) {
      CHECK(stretch.launch(kernels({1, 2, ++value})) == Launched::kIssue);
    }
  }
  CHECK(rounds == (launched_between ? 10 : 4));
  CHECK(stretch.entry.summary().decline ==
        (launched_between ? GraphEntry::Decline::kNone : GraphEntry::Decline::kArguments));
}

TEST_CASE("a graph is built once its operations, issued one by one, have cost as much as building it") {
  const bool gate = GENERATE(true, false);
  Stretch stretch({.gate = gate, .can_update = true});
  int recorded = 0;
  for (auto wish = GraphEntry::Wish::kNothing; recorded < 20 && wish == GraphEntry::Wish::kNothing; ++recorded) {
    wish = stretch.entry.recorded(views(kSame), kEager, true);
  }
  CHECK(recorded == (gate ? 11 : 1));  // of three operations; without the gate nobody asks what it costs
}

TEST_CASE("two queues that submit a stretch with arguments of their own get an instance each") {
  Stretch stretch({.gate = false});
  const Occurrence other = kernels({1, 2, 3}, 8);
  stretch.make_ready(kSame);
  std::size_t launched = 0;
  for (int round = 0; round < 30; ++round) {
    CHECK(stretch.launch(kSame) == Launched::kDone);
    CHECK(stretch.launch(kSame) == Launched::kDone);
    launched += stretch.launch(other) == Launched::kDone ? 1 : 0;
  }
  CHECK(launched == 30 - 20);  // 22 times three operations, the two recordings too, cost as much as building both
}

TEST_CASE("what came as predicted is not launched with the arguments that a graph was given meanwhile") {
  Stretch stretch({.gate = false, .can_update = true});
  stretch.make_ready(kSame);
  const auto predicted = stretch.entry.predicted(stretch.changes, stretch.hooks);
  REQUIRE(predicted != nullptr);
  CHECK(stretch.launch_predicted(*predicted) == Launched::kDone);
  const Occurrence other = kernels({1, 2, 33});
  CHECK(stretch.launch(other) == Launched::kDone);  // another thread's
  const std::size_t arrived = stretch.backend.log().size();
  CHECK(stretch.launch_predicted(*predicted) == Launched::kIssue);
  CHECK(stretch.backend.log().size() == arrived);
  const auto now = stretch.entry.predicted(stretch.changes, stretch.hooks);
  REQUIRE(now != nullptr);
  CHECK(stretch.launch_predicted(*now) == Launched::kDone);
  CHECK(stretch.backend.log().back().scalar == 33);
}

TEST_CASE("a driver that changes no graph that runs is asked again when it does not") {
  Stretch stretch({.gate = false, .can_update = true});
  bool runs = false;
  stretch.backend.busy = [&runs] { return runs; };
  stretch.make_ready(kSame);
  std::uint64_t value = 100;
  const auto launch = [&](bool running) {
    runs = stretch.backend.refuse_updates = running;
    return stretch.launch(kernels({1, 2, ++value}));
  };
  for (int round = 0; round < 20; ++round) {
    for (int early = 0; early < 3; ++early) {
      REQUIRE(launch(true) == Launched::kIssue);
    }
    REQUIRE(launch(false) == Launched::kDone);
  }
  for (int early = 0; early < 50; ++early) {  // but not for ever
    REQUIRE(launch(true) == Launched::kIssue);
  }
  CHECK(launch(false) == Launched::kIssue);
}

TEST_CASE("arguments that come back while all instances run, and cannot be changed, get an instance of their own") {
  Stretch stretch({.gate = false, .can_update = true});
  stretch.backend.simultaneous = false;
  bool runs = false;
  stretch.backend.busy = [&runs] { return runs; };
  stretch.make_ready(kSame);
  runs = true;
  const Occurrence other = kernels({1, 2, 3}, 8);
  for (int round = 0; round < 30; ++round) {
    CHECK(stretch.launch(other) == Launched::kIssue);
  }
  CHECK(stretch.entry.summary().builds == 2);
  runs = false;
  CHECK(stretch.launch(other) == Launched::kDone);
}

TEST_CASE("of several arguments that change, the one is named that changes most often") {
  Stretch stretch({.gate = false});
  for (std::uint64_t i = 0; i < 100 && stretch.entry.state() == State::kRecording; ++i) {
    stretch.come(kernels({i < 5 ? 1U : 2U, i, i < 9 ? 1U : 2U}));
  }
  CHECK(stretch.entry.summary().decline == GraphEntry::Decline::kArguments);
  CHECK(stretch.entry.summary().reason.find("argument 1 of operation 1 ") == 0);
  CHECK(stretch.entry.summary().reason.find(" changes each time, and 2 more") != std::string::npos);
}

TEST_CASE("who does not follow a stretch any more is not told what becomes of it") {
  const bool all_chunks = GENERATE(true, false);
  Matcher gone({}), follower({});
  const auto chunk_of = [](Matcher& matcher) {
    ChunkId chunk = kNoChunk;
    for (int round = 0; round < 20; ++round) {
      for (const Token token : body(3, 10)) {
        matcher.feed(token, true);
        chunk = matcher.following().chunk;
      }
      matcher.cut();
    }
    REQUIRE(chunk != kNoChunk);
    return chunk;
  };
  const ChunkId of_gone = chunk_of(gone), of_follower = chunk_of(follower);
  Stretch stretch({.gate = false});
  stretch.entry.subscribe(gone, of_gone);
  stretch.entry.subscribe(follower, of_follower);
  stretch.make_ready(kSame);
  REQUIRE(gone.mode(of_gone) == ChunkMode::kHold);
  if (all_chunks) {
    stretch.entry.unsubscribe(gone);
  } else {
    stretch.entry.unsubscribe(gone, of_gone);
  }
  stretch.entry.retire(GraphEntry::Decline::kDiffers, "");
  CHECK(gone.mode(of_gone) == ChunkMode::kHold);
  CHECK(follower.mode(of_follower) == ChunkMode::kBypass);
}

TEST_CASE("a stretch weighs as many submissions as it stood for, whichever way they went") {
  GraphEntry::Summary summary;
  summary.operations = 10;
  CHECK(summary.weight() == 0);
  summary.recorded = 1;
  summary.bypassed = 20;
  summary.launched = 300;
  CHECK(summary.weight() == 3210);
}

TEST_CASE("the instance that was used longest ago makes room for another one") {
  test::ArithmeticBackend backend;
  GraphVariants variants;
  for (const std::uint64_t buffer : {7, 8, 9}) {
    REQUIRE(variants.add(executable_of(backend, kernels({1, 2, 3}, buffer)), 3, 0) == nullptr);
  }
  variants.launched(1, 10);
  variants.launched(2, 20);
  variants.launched(0, 30);
  const auto gone = variants.add(executable_of(backend, kernels({1, 2, 3}, 10)), 3, 40);
  REQUIRE(gone != nullptr);
  CHECK(gone->matches(views(kernels({1, 2, 3}, 8))));
  CHECK(variants.size() == 3);
}

TEST_CASE("when the memory of one instance goes, nobody knows which of the others comes next") {
  test::ArithmeticBackend backend;
  GraphVariants variants;
  for (const std::uint64_t buffer : {7, 8, 9}) {
    variants.add(executable_of(backend, kernels({1, 2, 3}, buffer)), 3, 0);
  }
  for (const std::size_t index : {0, 1, 2, 0, 1, 2, 0, 1}) {  // they take turns
    variants.launched(index, 0);
  }
  REQUIRE(variants.likeliest() == 2);
  CHECK(variants.remove(1000) == 0);
  CHECK(variants.likeliest() == 2);
  CHECK(variants.remove(7) == 1);
  REQUIRE(variants.size() == 2);
  CHECK(variants.likeliest() == GraphVariants::kNone);  // what was the second has the first one's number now
  variants.launched(1, 0);
  CHECK(variants.likeliest() == GraphVariants::kNone);
  variants.launched(0, 0);
  variants.launched(1, 0);
  CHECK(variants.likeliest() == 0);
}

}  // namespace
}  // namespace refrain::replay
