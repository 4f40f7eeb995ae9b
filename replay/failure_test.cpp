// What is told of errors of held work, whoever submits it, and what becomes of held work when the engine gives up.
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using test::constant;
using test::loop;
using test::Program;
using test::quiet;
using test::Rig;

constexpr EntryPoint kHostCall{"a host call"};
constexpr int kRefused = -5;  ///< what fail_issues makes the driver say

/// A program whose loop is replayed, and that has just begun with an iteration again: so much of it is held.
struct Holding {
  explicit Holding(const env::Settings& settings = quiet(false)) : rig(settings) {
    loop(rig, program, 30, 8, constant);
    REQUIRE(rig.report()["replayed"].get<int>() > 0);
    for (int k = 0; k < 3; ++k) {
      REQUIRE(program.kernel(100 + k, 7 + k % 3, constant(0, k)) == 0);
    }
    REQUIRE(rig.engine->anything_held());
  }
  /// What arrived is what was submitted, but for `lost` operations that the driver refused.
  void check_arrived(std::size_t lost = 0) { CHECK(rig.backend.log().size() + lost == program.submitted.size()); }

  Rig rig;
  Program program{*rig.engine, rig.backend, rig.queue};
};

void wait_until_submitted(Engine& engine) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (engine.anything_held() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE_FALSE(engine.anything_held());
}

/// One chunk for each stretch between two waits.
env::Settings undivided() {
  env::Settings settings = quiet(false);
  settings.chunk_first = settings.chunk_max = 64;
  return settings;
}

env::Settings short_hold() {
  env::Settings settings = quiet(false);
  settings.hold_limit_us = 20'000;
  return settings;
}

TEST_CASE("the error of work that another thread's call flushed is told to the thread whose work it is",
          "[promise-5]") {
  Holding held;
  held.rig.backend.fail_issues = 1;
  int told_other = 1;
  std::thread([&] {
    held.rig.engine->flush_holder(held.rig.queue);
    told_other = held.rig.engine->flush_all(kHostCall);
  }).join();
  CHECK(told_other == 0);
  held.check_arrived(1);
  CHECK(held.program.wait() == kRefused);
  CHECK(held.program.wait() == 0);
}

TEST_CASE("the error of work that the watchdog submitted is told by the thread's next call", "[promise-5]") {
  for (const bool submits : {false, true}) {
    Holding held(short_hold());
    held.rig.backend.fail_issues = 1;
    wait_until_submitted(*held.rig.engine);
    held.check_arrived(1);
    const int told = submits ? held.program.kernel(999, 7, 1) : held.program.wait();
    CHECK(told == kRefused);
    CHECK(held.program.wait() == 0);
  }
}

TEST_CASE("the error of work flushed by a call that returns none is told by the next one", "[promise-5]") {
  for (const bool submits : {false, true}) {
    Holding held;
    held.rig.backend.fail_issues = 1;
    held.rig.engine->flush_all_silently(kHostCall);
    const int told = submits ? held.program.kernel(999, 7, 1) : held.program.wait();
    CHECK(told == kRefused);
    CHECK(held.program.wait() == 0);
  }
}

TEST_CASE("the error of held work is told by the call in another queue before which it is flushed", "[promise-5]") {
  Holding held;
  QueueSlot second;
  second.info.id = second.info.handle = 2;
  second.info.role = 1;
  held.rig.engine->adopt_queue(second);
  // That one was another thread's until now: what this thread holds is divided there.
  std::thread([&] { Program(*held.rig.engine, held.rig.backend, second).kernel(998, 8, 1); }).join();
  REQUIRE(held.rig.engine->anything_held());
  held.rig.backend.fail_issues = 1;
  Program in_second(*held.rig.engine, held.rig.backend, second);
  CHECK(in_second.kernel(999, 8, 1) == kRefused);
  CHECK_FALSE(held.rig.engine->anything_held());
  CHECK(held.program.wait() == 0);
}

TEST_CASE("the event of held work that the driver refuses fails with the driver's error, and no other one does",
          "[promise-5]") {
  Holding held(undivided());
  constexpr std::uint64_t kOfRefused = 4711, kOfAnother = 4712;
  REQUIRE(held.program.kernel(103, 7, constant(0, 3), kOfRefused) == 0);
  REQUIRE(held.program.kernel(104, 8, constant(0, 4), kOfAnother) == 0);
  REQUIRE(held.rig.hooks.kept.empty());
  held.rig.backend.spare = 3;
  held.rig.backend.fail_issues = 1;
  CHECK(held.program.wait() == kRefused);
  CHECK(held.rig.hooks.kept == std::map<std::uint64_t, int>{{kOfRefused, kRefused}, {kOfAnother, 0}});
  CHECK(held.rig.backend.live_events == 0);
}

TEST_CASE("the first of several errors of held work is told", "[promise-5]") {
  Holding held;
  held.rig.backend.spare = 1;
  held.rig.backend.fail_issues = 2;
  CHECK(held.program.wait() == kRefused);
  held.check_arrived(2);
  CHECK(held.program.wait() == 0);
}

TEST_CASE("a host call after a failure submits what is held and tells its error", "[promise-5]") {
  for (const bool all : {false, true}) {
    Holding held;
    held.rig.engine->fail("a failure planted by a test");
    held.rig.backend.fail_issues = 1;
    Engine& engine = *held.rig.engine;
    CHECK((all ? engine.flush_all(kHostCall) : engine.flush_own(kHostCall)) == kRefused);
    CHECK_FALSE(engine.anything_held());
    held.check_arrived(1);
    CHECK(engine.flush_all(kHostCall) == 0);
  }
}

TEST_CASE("what was held at a failure comes before the thread's next submission, which tells its error",
          "[promise-5]") {
  for (const bool refused : {false, true}) {
    Holding held;
    held.rig.engine->fail("a failure planted by a test");
    held.rig.backend.fail_issues = refused ? 1 : 0;
    CHECK(held.program.kernel(103, 7, 77) == (refused ? kRefused : 0));
    CHECK_FALSE(held.rig.engine->anything_held());
    held.check_arrived(refused ? 1 : 0);
    if (!refused) {
      CHECK(held.rig.backend.log() == held.program.submitted);
    }
  }
}

TEST_CASE("the watchdog submits what was held at a failure, and its error is told", "[promise-5]") {
  Holding held(short_hold());
  held.rig.engine->fail("a failure planted by a test");
  held.rig.backend.fail_issues = 1;
  wait_until_submitted(*held.rig.engine);
  held.check_arrived(1);
  CHECK(held.rig.engine->flush_own(kHostCall) == kRefused);
  CHECK(held.rig.engine->flush_own(kHostCall) == 0);
}

TEST_CASE("an engine that gave up is to be told of what goes away until its threads have ended", "[promise-7]") {
  Holding held;
  held.rig.engine->fail("a failure planted by a test");
  CHECK(held.rig.engine->has_threads());
  held.rig.engine->shut_down();
  CHECK_FALSE(held.rig.engine->has_threads());
}

TEST_CASE("a thread without a lane shares one once the engine gave up, and what it submits passes through",
          "[promise-7]") {
  Holding held;
  held.rig.engine->fail("a failure planted by a test");
  std::thread([&] {
    Lane& lane = held.rig.engine->lane();
    CHECK(lane.number() == Lane::kPassing);
    CHECK(Lane::current == nullptr);
    CHECK(held.program.kernel(103, 7, 77) == 0);
  }).join();
  CHECK(held.rig.engine->flush_own(kHostCall) == 0);
  held.check_arrived();
}

TEST_CASE("after a failure another thread's call submits what is held, and is told nothing of it", "[promise-5]") {
  Holding held;
  held.rig.engine->fail("a failure planted by a test");
  held.rig.backend.fail_issues = 1;
  int told_other = 1;
  std::thread([&] { told_other = held.rig.engine->flush_all(kHostCall); }).join();
  CHECK(told_other == 0);
  held.check_arrived(1);
  CHECK(held.rig.engine->flush_own(kHostCall) == kRefused);
}

// Graphs over two queues that share no command buffers: one part for each.

struct TwoParts {
  explicit TwoParts(bool can_update) : rig(undivided(), can_update) {
    second.info.id = 2;
    second.info.handle = 2;
    second.info.role = 1;
    rig.engine->adopt_queue(second);
  }
  /// Four kernels in each of the queues, and a wait. All of them have the same scalar. Returns what the program is told
  /// of it.
  int iteration(std::uint64_t scalar) {
    int told = 0;
    for (std::uint64_t k = 0; k < 8; ++k) {
      Program& program = k < 4 ? in_first : in_second;
      const int error = program.kernel(100 + k, k < 4 ? 7 : 8, scalar);
      told = told != 0 ? told : error;
      expected.push_back({k < 4 ? 1U : 2U, k < 4 ? 7U : 8U, scalar, false});
    }
    const int error = in_first.wait();
    return told != 0 ? told : error;
  }
  void warm_up(std::uint64_t scalar) {
    for (int i = 0; i < 40; ++i) {
      REQUIRE(iteration(scalar) == 0);
      if (i % 4 == 0) {
        rig.engine->wait_idle();
      }
    }
    REQUIRE(rig.report()["launches"].get<int>() > 0);
    REQUIRE(rig.backend.live_buffers == 2);  // one graph, two parts
  }

  Rig rig;
  QueueSlot second;
  Program in_first{*rig.engine, rig.backend, rig.queue};
  Program in_second{*rig.engine, rig.backend, second};
  std::vector<test::Arrived> expected;
};

TEST_CASE("a part of a graph that the driver refuses is submitted eagerly, and the graph is retired", "[promise-5]") {
  for (const int part : {0, 1}) {
    TwoParts two(false);
    two.warm_up(5);
    const int launches = two.rig.report()["launches"].get<int>();
    two.rig.backend.spare = part;
    two.rig.backend.fail_enqueues = 1;
    CHECK(two.iteration(5) == 0);
    CHECK(two.rig.backend.fail_enqueues == 0);
    CHECK(two.iteration(5) == 0);
    CHECK(two.rig.backend.log() == two.expected);
    CHECK(two.rig.report()["launches"].get<int>() <= launches + 1);
    CHECK(two.rig.backend.live_buffers == 0);
  }
}

TEST_CASE("a call that is held, and has the chunk submitted that it completes, tells the error", "[promise-5]") {
  auto settings = quiet(false);
  settings.chunk_first = settings.chunk_max = 4;
  const bool promises = GENERATE(false, true);  // what makes a promise is never what was predicted
  Rig rig(settings);
  Program program(*rig.engine, rig.backend, rig.queue);
  const auto kernel = [&](int k) {
    return program.kernel(100 + k, 7 + k % 3, test::constant(0, k), promises ? 1 + static_cast<unsigned>(k) : 0);
  };
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 8; ++k) {
      REQUIRE(kernel(k) == 0);
    }
    REQUIRE(program.wait() == 0);
    rig.engine->wait_idle();
  }
  rig.backend.fail_enqueues = 1;
  rig.backend.fail_issues = 1;
  std::vector<int> told;
  for (int k = 0; k < 8; ++k) {
    told.push_back(kernel(k));
  }
  told.push_back(program.wait());
  CHECK(std::ranges::count(told, kRefused) == 1);
  CHECK(told.back() == 0);  // it was told by a call that submits
  CHECK(std::ranges::count(told, 0) == 8);
}

TEST_CASE("an error of the eager submission of a refused part is told", "[promise-5]") {
  TwoParts two(false);
  two.warm_up(5);
  two.rig.backend.spare = 1;
  two.rig.backend.fail_enqueues = 1;
  two.rig.backend.fail_issues = 1;
  CHECK(two.iteration(5) == kRefused);
  CHECK(two.rig.backend.log().size() + 1 == two.expected.size());
  CHECK(two.iteration(5) == 0);
}

TEST_CASE("an update that the driver refuses, in whichever part, never leaves a graph half changed", "[promise-5]") {
  for (const int part : {0, 1}) {
    TwoParts two(true);
    two.warm_up(5);
    two.rig.backend.spare = part;
    two.rig.backend.fail_updates = 1;
    CHECK(two.iteration(6) == 0);
    CHECK(two.rig.backend.fail_updates == 0);
    CHECK(two.iteration(5) == 0);
    CHECK(two.iteration(6) == 0);
    CHECK(two.iteration(5) == 0);
    CHECK(two.rig.backend.log() == two.expected);
  }
}

TEST_CASE("a graph that is left half changed makes room for another one, which is replayed") {
  TwoParts two(true);
  two.warm_up(5);
  two.rig.backend.spare = 1;
  two.rig.backend.fail_updates = 1;
  REQUIRE(two.iteration(6) == 0);
  REQUIRE(two.rig.backend.fail_updates == 0);
  CHECK(two.rig.backend.live_buffers == 0);
  const int launches = two.rig.report()["launches"].get<int>();
  two.warm_up(5);
  CHECK(two.rig.report()["launches"].get<int>() >= launches + 20);
  CHECK(two.rig.backend.log() == two.expected);
}

}  // namespace
}  // namespace refrain::replay
