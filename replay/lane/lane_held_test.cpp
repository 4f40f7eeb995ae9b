// What a lane does with what it is given, beside launching it: who is told of it, who has to wait for it, and when it
// goes by.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using test::constant;
using test::loop;
using test::Program;
using test::quiet;
using test::Rig;

constexpr int kLength = 12;

/// One chunk for each stretch between two waits.
env::Settings settings() {
  env::Settings settings = quiet(false);
  settings.chunk_first = settings.chunk_max = 64;
  return settings;
}

/// The first `count` kernels of a loop's next iteration.
void begin(Program& program, int count) {
  for (int k = 0; k < count; ++k) {
    REQUIRE(program.kernel(100 + k, 7 + k % 3, constant(0, k)) == 0);
  }
}

TEST_CASE("what was released while it was held is released once, when nothing is held any more") {
  static int released;
  released = 0;
  Rig rig(settings());
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, kLength, constant);
  const auto release = [](capture::Handle handle) { released += static_cast<int>(handle); };
  begin(program, 3);
  REQUIRE(rig.engine->anything_held());
  rig.engine->lane().release_later(release, 1);
  CHECK(released == 0);
  program.wait();
  CHECK(released == 1);
  loop(rig, program, 5, kLength, constant);
  begin(program, 3);
  REQUIRE(rig.engine->anything_held());
  rig.engine->lane().release_later(release, 10);
  program.wait();
  CHECK(released == 11);
  rig.engine->lane().release_later(release, 100);  // nothing is held
  CHECK(released == 111);
}

TEST_CASE("nothing is held when the call returns behind which the program may look at memory") {
  Rig rig(settings());
  Program program(*rig.engine, rig.backend, rig.queue);
  for (int round = 0; round < 60; ++round) {
    begin(program, kLength);
    program.ends = true;
    REQUIRE(program.kernel(90, 3, constant(0, 0)) == 0);
    program.ends = false;
    REQUIRE_FALSE(rig.engine->anything_held());
    REQUIRE(rig.backend.log() == program.submitted);
    if (round % 10 == 9) {
      program.wait();
      rig.engine->wait_idle();
    }
  }
  const auto log = rig.backend.log();
  CHECK(std::all_of(log.end() - kLength - 1, log.end(), [](const auto& each) { return each.native; }));
}

TEST_CASE("a held flush asks for the queue that it was called for") {
  Rig rig(settings());
  QueueSlot second;
  second.info.id = second.info.handle = 2;
  second.info.role = 1;
  rig.engine->adopt_queue(second);
  Program in_first(*rig.engine, rig.backend, rig.queue), in_second(*rig.engine, rig.backend, second);
  const auto until_flush = [&](Program& flushed) {
    begin(in_first, 4);
    begin(in_second, 4);
    REQUIRE(flushed.flush() == 0);
  };
  for (Program* const flushed : {&in_second, &in_first}) {
    for (int i = 0; i < 30; ++i) {
      until_flush(*flushed);
      begin(in_first, 4);
      REQUIRE(in_first.wait() == 0);
      rig.engine->wait_idle();
    }
    const auto before = rig.backend.flushed();
    CHECK(before.size() >= 30);
    until_flush(*flushed);
    REQUIRE(rig.engine->anything_held());
    REQUIRE(rig.backend.flushed() == before);
    REQUIRE(in_first.wait() == 0);
    const auto after = rig.backend.flushed();
    REQUIRE(after.size() == before.size() + 1);
    CHECK(after.back() == (flushed == &in_first ? 1U : 2U));
  }
}

TEST_CASE("what the driver refuses each time keeps nothing else from being replayed") {
  Rig rig(settings());
  Program program(*rig.engine, rig.backend, rig.queue);
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < kLength; ++k) {
      const bool refused = k == kLength / 2;
      program.refusal = refused ? -5 : 0;
      REQUIRE(program.kernel(100 + k, 7 + k % 3, constant(i, k)) == program.refusal);
    }
    REQUIRE(program.wait() == 0);
    rig.engine->wait_idle();
  }
  CHECK(rig.report()["replayed"].get<int>() >= 20 * (kLength / 2 - 1));
  CHECK(rig.backend.log() == program.submitted);
}

TEST_CASE("a stretch whose graph was given up for good is replayed again when it comes again") {
  Rig rig(settings());
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, kLength, constant);
  const auto replayed = [&] { return rig.report()["replayed"].get<int>(); };
  REQUIRE(replayed() > 0);
  rig.engine->identity_gone(rig.queue.info.id);
  REQUIRE(rig.backend.live_buffers == 0);
  const int before = replayed();
  loop(rig, program, 30, kLength, constant);
  CHECK(replayed() >= before + 10 * kLength);
  CHECK(rig.backend.log() == program.submitted);
}

TEST_CASE("of a stretch whose memory is freed before its graph is built, only what was retained is given back") {
  Rig rig(settings());
  rig.hooks.freed = 100 + kLength / 2;
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, kLength, constant);
  CHECK(rig.hooks.retained == 0);
  const auto report = rig.report();
  REQUIRE(report["graphs"].size() == 1);
  CHECK(report["graphs"][0]["reason"] == "its buffers or kernels are freed before it comes back");
  CHECK(rig.backend.log() == program.submitted);
}

TEST_CASE("a lane is dormant when so many submissions came to nothing as the user says") {
  env::Settings settings = quiet(false);
  settings.dormant_after = GENERATE(64, 0);
  Rig rig(settings);
  Program program(*rig.engine, rig.backend, rig.queue);
  for (int k = 0; k < 60; ++k) {
    program.kernel(100, 7, 1, 0, "the test says so");
  }
  program.wait();
  CHECK_FALSE(rig.engine->lane().is_dormant());
  for (int k = 0; k < 60; ++k) {
    program.kernel(100, 7, 1, 0, "the test says so");
  }
  program.wait();
  CHECK(rig.engine->lane().is_dormant() == (settings.dormant_after != 0));  // without a gate only if it is asked for
}

TEST_CASE("what the layer may not hold without looking at it is not held because it was predicted") {
  Rig rig(settings());
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, kLength, constant);
  REQUIRE(rig.engine->lane().predicted());
  rig.hooks.holdable = false;
  int before = program.predicted;
  begin(program, 1);
  CHECK(program.predicted == before);
  rig.hooks.holdable = true;
  program.wait();
  loop(rig, program, 5, kLength, constant);
  before = program.predicted;
  begin(program, 1);
  CHECK(program.predicted == before + 1);
  program.wait();
  CHECK(rig.backend.log() == program.submitted);
}

TEST_CASE("what was held before the rest came as predicted waits for its events") {
  constexpr capture::WaitRef kEvent = 4711;
  Rig rig(settings());
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, kLength, constant);
  REQUIRE(rig.hooks.waits.empty());
  const auto launches = [&] { return rig.report()["launches"].get<int>(); };
  const int before = launches(), predicted = program.predicted;
  REQUIRE(program.kernel(100, 7, constant(0, 0), 0, nullptr, kEvent) == 0);
  for (int k = 1; k < kLength; ++k) {
    REQUIRE(program.kernel(100 + k, 7 + k % 3, constant(0, k)) == 0);
  }
  REQUIRE(program.predicted > predicted);
  REQUIRE(launches() == before + 1);
  CHECK(rig.hooks.waits == std::vector<capture::WaitRef>{kEvent});
  CHECK(rig.backend.waited().back() == 1);
  program.wait();
  CHECK(rig.backend.log() == program.submitted);
  CHECK(rig.backend.live_events == 0);
}

}  // namespace
}  // namespace refrain::replay
