// Submissions that are held without being looked at, because they were expected.
#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using test::ArithmeticBackend;
using test::Program;
using test::TestHooks;

constexpr int kLength = 24;

struct Rig {
  explicit Rig(bool can_update = false, std::int64_t hold_limit_us = 1'000'000) {
    backend.can_update = can_update;
    env::Settings settings;
    settings.gate = false;
    settings.report = false;
    settings.chunk_first = 24;
    settings.chunk_max = 24;
    settings.hold_limit_us = hold_limit_us;
    engine = std::make_unique<Engine>(settings, backend, hooks, nullptr);
    queue.info.id = 1;
    queue.info.handle = 1;
    engine->adopt_queue(queue);
  }
  nlohmann::json report() { return nlohmann::json::parse(engine->report_json()); }

  ArithmeticBackend backend;
  TestHooks hooks{backend};
  std::unique_ptr<Engine> engine;
  QueueSlot queue;
};

/// Until what repeats is known and its graphs are built, and then as often.
template <class Scalar>
void loop(Rig& rig, Program& program, int iterations, Scalar scalar) {
  for (int i = 0; i < iterations; ++i) {
    for (int k = 0; k < kLength; ++k) {
      REQUIRE(program.kernel(100 + k, 7 + k % 3, scalar(i, k)) == 0);
    }
    REQUIRE(program.wait() == 0);
    if (i < 24) {
      rig.engine->wait_idle();
    }
  }
}

std::uint64_t constant(int /*iteration*/, int k) {
  return 1000 + static_cast<std::uint64_t>(k);
}

TEST_CASE("of a loop with equal arguments nearly all submissions are expected, and counted like all others") {
  Rig rig;
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  const int before = program.expected;
  loop(rig, program, 100, constant);
  // The first one of each graph is looked at, and two of those that are timed.
  CHECK(program.expected - before > 100 * kLength * 8 / 10);
  REQUIRE(rig.backend.log() == program.submitted);
  const auto report = rig.report();
  CHECK(report["submissions"] == 132 * kLength);
  CHECK(report["replayed"].get<int>() > 100 * kLength * 9 / 10);
}

TEST_CASE("a program that does something else than expected is given what it asks for") {
  const int changed = GENERATE(1, 2, 11, 22, 23);
  Rig rig(GENERATE(false, true));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  const int before = program.expected;
  loop(rig, program, 40, [changed](int i, int k) { return constant(i, k) + (k == changed && i % 4 == 3 ? 500 : 0); });
  CHECK(program.expected > before);
  REQUIRE(rig.backend.log() == program.submitted);
  CHECK(rig.report()["submissions"] == 72 * kLength);
}

TEST_CASE("a wait in the middle of what was expected submits what came before") {
  Rig rig;
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  for (int stop = 1; stop < kLength; ++stop) {
    for (int k = 0; k < stop; ++k) {
      program.kernel(100 + k, 7 + k % 3, constant(0, k));
    }
    program.wait();
    REQUIRE(rig.backend.log() == program.submitted);
    loop(rig, program, 2, constant);
  }
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("another thread that flushes gets what was expected and not looked at yet, too") {
  Rig rig;
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  const int before = program.expected;
  for (int stop = 1; stop < kLength; ++stop) {
    for (int k = 0; k < kLength; ++k) {
      REQUIRE(program.kernel(100 + k, 7 + k % 3, constant(0, k)) == 0);
      if (k + 1 == stop) {
        std::thread([&] { rig.engine->settle(rig.queue); }).join();
        REQUIRE(rig.backend.log() == program.submitted);
        CHECK_FALSE(rig.engine->lane().expected());
      }
    }
    program.wait();
    REQUIRE(rig.backend.log() == program.submitted);
    loop(rig, program, 1, constant);
  }
  CHECK(program.expected > before);
  CHECK(rig.report()["submissions"] == program.submitted.size());
}

TEST_CASE("a queue that another thread had a turn with, in the middle of what was expected") {
  Rig rig;
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  const int before = program.expected;
  const Lane* const another = reinterpret_cast<const Lane*>(&rig);
  for (int stop = 1; stop < kLength; ++stop) {
    for (int k = 0; k < kLength; ++k) {
      rig.queue.newest = k == stop ? another : rig.queue.newest.load();
      REQUIRE(program.kernel(100 + k, 7 + k % 3, constant(0, k)) == 0);
    }
    program.wait();
    REQUIRE(rig.backend.log() == program.submitted);
    loop(rig, program, 1, constant);
  }
  CHECK(program.expected > before);
  CHECK(rig.report()["submissions"] == program.submitted.size());
}

TEST_CASE("threads that flush while submissions are expected lose nothing and change no order") {
  Rig rig(false, 50);
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  const int before = program.expected;
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      rig.engine->settle(rig.queue);
      std::this_thread::sleep_for(std::chrono::microseconds(30));
    }
  });
  loop(rig, program, 600, constant);
  stop = true;
  other.join();
  program.wait();
  CHECK(program.expected > before);
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("where arguments change each time, hardly anything is expected") {
  Rig rig(true);
  Program program(*rig.engine, rig.backend, rig.queue);
  const auto counting = [](int i, int k) { return static_cast<std::uint64_t>(i * 100 + k); };
  loop(rig, program, 100, counting);
  program.asked = 0;
  loop(rig, program, 200, [&](int i, int k) { return counting(i + 100, k); });
  CHECK(program.asked < 200 * kLength / 100);
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("what a lane expects stays as it was when another one changes the graph's arguments") {
  Rig rig(true);
  QueueSlot second;
  second.info.id = 2;
  second.info.handle = 2;
  rig.engine->adopt_queue(second);
  const auto run = [&](QueueSlot& queue, int add, int* expected) {
    Program program(*rig.engine, rig.backend, queue);
    for (int i = 0; i < 400; ++i) {
      for (int k = 0; k < kLength; ++k) {
        program.kernel(100 + k, queue.info.id * 10 + k % 3, constant(i, k) + static_cast<std::uint64_t>(i / 9 * add));
      }
      program.wait();
      if (i < 24) {
        rig.engine->wait_idle();
      }
    }
    *expected = program.expected;
  };
  int expected_constant = 0;
  int expected_changing = 0;
  std::thread other([&] { run(second, 1, &expected_changing); });
  run(rig.queue, 0, &expected_constant);
  other.join();
  CHECK(expected_constant + expected_changing > 0);
  // Both orders were kept: the same as of each queue alone.
  std::map<std::uint64_t, std::uint64_t> right;
  for (const QueueSlot* queue : {&rig.queue, &second}) {
    const int add = queue == &second ? 1 : 0;
    for (int i = 0; i < 400; ++i) {
      for (int k = 0; k < kLength; ++k) {
        std::uint64_t& cell = right[queue->info.id * 10 + static_cast<std::uint64_t>(k % 3)];
        cell = cell * 31 + constant(i, k) + static_cast<std::uint64_t>(i / 9 * add);
      }
    }
  }
  CHECK(rig.backend.memory() == right);
}

}  // namespace
}  // namespace refrain::replay
