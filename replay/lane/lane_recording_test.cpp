// Which graph a lane takes for what comes.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "replay/engine_test_support.h"
#include "replay/lane/lane.h"

namespace refrain::replay {
namespace {

using test::Program;
using test::quiet;
using test::Rig;

/// So many repetitions of a stretch that no other `number` has. Returns how much of the last half of them was replayed.
double repeat(Rig& rig, Program& program, std::uint64_t number, int times) {
  constexpr std::uint64_t kLength = 200;
  const auto replayed = [&] { return static_cast<double>(rig.engine->lane().counters().replayed.get()); };
  double before = 0;
  int errors = 0;
  for (int i = 0; i < times; ++i) {
    if (i == times / 2) {
      before = replayed();
    }
    for (std::uint64_t k = 0; k < kLength; ++k) {
      errors += program.kernel(number * kLength + k, 7, k) != 0 ? 1 : 0;
    }
    errors += program.wait() != 0 ? 1 : 0;
    rig.engine->wait_idle();
  }
  CHECK(errors == 0);
  const auto counted = times - times / 2;
  return (replayed() - before) / (static_cast<double>(counted) * kLength);
}

TEST_CASE("a chunk that gets the number of one that was forgotten gets a graph of its own", "[promise-6]") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  // More than the matcher can keep, so that numbers come back; and more than there can be entries.
  const std::uint64_t stretches = GENERATE(900, 1100);
  for (std::uint64_t number = 1; number <= stretches; ++number) {
    repeat(rig, program, number, 4);
    program.submitted.clear();
  }
  const Lane& lane = rig.engine->lane();
  constexpr ChunkId kMostChunks = 1U << 16U;
  int known = 0;
  for (ChunkId chunk = 0; chunk < kMostChunks; ++chunk) {
    const auto& entry = lane.graphs().known(chunk);
    if (entry == nullptr) {
      continue;
    }
    if (const auto tokens = lane.matcher().tokens_of(chunk); !tokens.empty()) {
      ++known;
      CHECK(entry->tokens() == tokens);
    }
  }
  CHECK(known > 100);
  CHECK(repeat(rig, program, stretches + 1, 100) > 0.5);
}

TEST_CASE("what the driver refuses each time does not keep what is around it from being replayed") {
  env::Settings settings;
  settings.gate = false;
  settings.report = false;
  settings.hold_limit_us = 1'000'000;
  test::ArithmeticBackend backend;
  test::TestHooks hooks{backend};
  Engine engine(settings, backend, hooks, nullptr);
  QueueSlot queue;
  queue.info.id = queue.info.handle = 1;
  engine.adopt_queue(queue);
  test::Program program(engine, backend, queue);
  constexpr int kRounds = 60;
  for (int i = 0; i < kRounds; ++i) {
    for (std::uint64_t k = 0; k < 6; ++k) {
      REQUIRE(program.kernel(k, 1, 1) == 0);
    }
    program.refusal = i < kRounds - 1 ? -5 : 0;
    CHECK(program.kernel(9, 1, 1) == program.refusal);
    program.refusal = 0;
    for (std::uint64_t k = 6; k < 9; ++k) {
      REQUIRE(program.kernel(k, 1, 1) == 0);
    }
    program.wait();
    engine.wait_idle();
  }
  CHECK(backend.log() == program.submitted);
  const auto report = nlohmann::json::parse(engine.report_json());
  CHECK(report["replayed"].get<int>() > kRounds * 9 * 8 / 10);
  // Once it was taken, the next one is as any other.
  CHECK(report["unholdable"]["the driver refused the last one like it"].get<int>() == kRounds - 1);
}

}  // namespace
}  // namespace refrain::replay
