// What another run has found out of a graph. Times are told, not taken.
#include <catch2/catch.hpp>
#include <vector>

#include "replay/engine_test_support.h"
#include "replay/graph/graph_entry.h"
#include "replay/graph/graph_variants.h"

namespace refrain::replay {
namespace {

using capture::OperationView;
using State = GraphEntry::State;

constexpr std::uint64_t kSecond = 1'000'000'000;

Occurrence occurrence() {
  Occurrence result;
  for (std::uint64_t i = 0; i < 3; ++i) {
    capture::RecordBytes bytes;
    capture::OperationWriter writer(bytes);
    auto& header = writer.begin(capture::OperationKind::kKernel, 10 + i);
    header.function = 100 + i;
    header.queue = 1;
    writer.words(capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {64, 1, 1}, .local = {}});
    writer.argument_handle(capture::ArgumentKind::kBuffer, 7, 7);
    writer.finish();
    result.add(OperationView(bytes.data()));
  }
  capture::QueueInfo queue;
  queue.id = queue.handle = 1;
  result.queues.push_back(queue);
  return result;
}

struct Stretch {
  explicit Stretch(bool gate) : entry(1, {10, 11, 12}, {.gate = gate, .variants = 4, .can_update = false}) {
    for (std::size_t i = 0; i < work.size(); ++i) {
      operations.push_back(work.operation(i));
    }
  }
  /// An occurrence was issued; what is asked for is built. `budget`: it may be paid for.
  void come(std::uint64_t eager_ns, bool budget = true) {
    if (entry.recorded(operations, eager_ns, budget) == GraphEntry::Wish::kBuild) {
      std::string why;
      CHECK(entry.built(Executable::build(work, test::quiet(false), backend, &why), why) == nullptr);
    }
  }
  void launch(std::uint64_t hold_ns) {
    WindowEvents window;
    static_cast<void>(entry.launch({backend, hooks, window}, operations, hold_ns, false));
  }
  [[nodiscard]] State state() const { return entry.state(); }

  test::ArithmeticBackend backend;
  test::TestHooks hooks{backend};
  Occurrence work = occurrence();
  std::vector<OperationView> operations;
  GraphEntry entry;
};

constexpr GraphEntry::Known kPays{1, true, 10 * kSecond, kSecond}, kLoses{1, false, kSecond, 2 * kSecond};

}  // namespace

TEST_CASE("A graph that paid in another run is built for the first occurrence, and launched for the next one") {
  const bool gate = GENERATE(false, true);
  Stretch stretch(gate);
  stretch.entry.learn(kPays);
  stretch.come(10 * kSecond, false);
  CHECK(stretch.state() == State::kReady);
  stretch.launch(0);
  CHECK(stretch.entry.summary().launched == 1);
}

TEST_CASE("That a graph paid in another run is measured anew before long") {
  Stretch stretch(true);
  stretch.entry.learn(kPays);
  stretch.come(10 * kSecond);
  std::uint64_t launches = 0;
  for (; launches < 1000 && stretch.state() == State::kReady; ++launches) {
    stretch.launch(2 * kSecond);
  }
  CHECK(launches == tuning::kCheckOfKnown);
  for (int i = 0; i < 20 && stretch.state() == State::kRecording; ++i) {
    stretch.come(kSecond);  // much less than the other run says
  }
  for (int i = 0; i < 20 && stretch.state() != State::kBypassing; ++i) {
    stretch.state() == State::kReady ? stretch.launch(2 * kSecond) : stretch.come(kSecond);
  }
  CHECK(stretch.state() == State::kBypassing);
}

TEST_CASE("A graph that did not pay in another run is not tried before long, but later") {
  Stretch stretch(true);
  stretch.entry.learn(kLoses);
  CHECK(stretch.state() == State::kBypassing);
  CHECK(stretch.entry.summary().reason == "it is not faster as a graph, as an earlier run has found");
  // A run that had no time to try it hands on what it was told.
  REQUIRE(stretch.entry.known().has_value());
  CHECK(!stretch.entry.known()->pays);
  CHECK(stretch.entry.known()->eager_ns == kLoses.eager_ns);
  CHECK(stretch.entry.known()->replay_ns == kLoses.replay_ns);
  int passed = 0;
  for (; passed < 10'000 && stretch.state() == State::kBypassing; ++passed) {
    stretch.entry.bypassed();
  }
  CHECK(passed > 100);
  CHECK(stretch.state() == State::kRecording);
}

TEST_CASE("What was found out of a graph is told to another run") {
  Stretch pays(true);
  CHECK(!pays.entry.known().has_value());
  for (int i = 0; i < 20; ++i) {
    pays.state() == State::kRecording ? pays.come(10 * kSecond) : pays.launch(kSecond);
  }
  REQUIRE(pays.entry.known().has_value());
  CHECK(pays.entry.known()->pays);
  CHECK(pays.entry.known()->eager_ns == 10 * kSecond);

  Stretch loses(true);
  for (int i = 0; i < 100 && loses.state() != State::kBypassing; ++i) {
    loses.state() == State::kRecording ? loses.come(kSecond) : loses.launch(2 * kSecond);
  }
  REQUIRE(loses.entry.known().has_value());
  CHECK(!loses.entry.known()->pays);
}

}  // namespace refrain::replay
