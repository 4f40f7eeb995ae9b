// The report tells when intervals ran, and how, if it is asked to.
#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>
#include <thread>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using test::Program;
using test::Rig;

constexpr std::uint64_t kKernels = 12;

void steps(Program& program, int count) {
  for (int step = 0; step < count; ++step) {
    for (std::uint64_t kernel = 0; kernel < kKernels; ++kernel) {
      program.kernel(100 + kernel, 7, 1);
    }
    program.wait();
  }
}

TEST_CASE("the timeline tells each interval of each thread, and sums up to what was submitted and replayed") {
  env::Settings settings = test::quiet(true);
  settings.timeline = 10'000'000;
  settings.gate = false;
  Rig rig(settings);
  Program program(*rig.engine, rig.backend, rig.queue);
  // Graphs are built in the background.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::size_t rounds = 0;
  while (rig.report()["replayed"] <= 20 * kKernels && std::chrono::steady_clock::now() < until) {
    steps(program, 20);
    rounds += 20;
  }
  std::thread([&] {
    Program other(*rig.engine, rig.backend, rig.queue);
    steps(other, 3);
  }).join();
  const auto report = rig.report();
  REQUIRE(report["timeline"].size() == 2);
  std::uint64_t submissions = 0, in_graphs = 0;
  for (const auto& lane : report["timeline"]) {
    const std::size_t runs = lane["lane"] == 1 ? rounds : 3;
    CHECK(lane["left_out"] == 0);
    std::uint64_t last = 0;
    REQUIRE(lane["begin_ns"].size() == runs);
    for (std::size_t run = 0; run < runs; ++run) {
      CHECK(lane["begin_ns"][run] >= last);
      CHECK(lane["waiting_ns"][run] >= lane["begin_ns"][run]);
      CHECK(lane["end_ns"][run] >= lane["waiting_ns"][run]);
      last = lane["end_ns"][run];
      CHECK(lane["submissions"][run] == kKernels);
      submissions += lane["submissions"][run].get<std::uint64_t>();
      in_graphs += lane["in_graphs"][run].get<std::uint64_t>();
    }
  }
  CHECK(submissions == report["submissions"]);
  CHECK(in_graphs == report["replayed"]);
  CHECK(in_graphs > 20 * kKernels);
}

TEST_CASE("the timeline has no more intervals than asked for, and says how many it leaves out") {
  env::Settings settings = test::quiet(true);
  settings.timeline = 5;
  Rig rig(settings);
  Program program(*rig.engine, rig.backend, rig.queue);
  steps(program, 12);
  const auto timeline = rig.report()["timeline"];
  REQUIRE(timeline.size() == 1);
  CHECK(timeline[0]["end_ns"].size() == 5);
  CHECK(timeline[0]["begin_ns"][0] == 0);
  CHECK(timeline[0]["left_out"] == 7);

  Rig plain(test::quiet(true));
  Program other(*plain.engine, plain.backend, plain.queue);
  steps(other, 12);
  CHECK(plain.report()["timeline"].empty());
}

}  // namespace
}  // namespace refrain::replay
