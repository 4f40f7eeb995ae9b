// The report tells when intervals ran, and how, if it is asked to.
#include <algorithm>
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

void submit(Program& program, std::uint64_t count) {
  for (std::uint64_t kernel = 0; kernel < count; ++kernel) {
    program.kernel(100 + kernel, 7, 1);
  }
}

void steps(Program& program, int count) {
  for (int step = 0; step < count; ++step) {
    submit(program, kKernels);
    program.wait();
  }
}

/// Graphs are built in the background. Returns how many steps it took.
std::size_t steps_until_replayed(Rig& rig, Program& program, std::uint64_t replays) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::size_t count = 0;
  while (rig.report()["replayed"] <= replays * kKernels && std::chrono::steady_clock::now() < until) {
    steps(program, 20);
    rig.engine->wait_idle();
    count += 20;
  }
  return count;
}

env::Settings with_timeline(bool gate) {
  env::Settings settings = test::quiet(gate);
  settings.timeline = 10'000'000;
  return settings;
}

std::uint64_t sum_of(const nlohmann::json& column) {
  const auto numbers = column.get<std::vector<std::uint64_t>>();
  return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}

TEST_CASE("the timeline tells each interval of each thread, and sums up to what was submitted and replayed") {
  Rig rig(with_timeline(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  const std::size_t rounds = steps_until_replayed(rig, program, 20);
  std::thread([&] {
    Program other(*rig.engine, rig.backend, rig.queue);
    steps(other, 3);
  }).join();
  const auto report = rig.report();
  REQUIRE(report["timeline"].size() == 2);
  std::uint64_t submissions = 0, in_graphs = 0, held_issued = 0, launches = 0;
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
      CHECK(lane["in_graphs"][run].get<std::uint64_t>() + lane["held_issued"][run].get<std::uint64_t>() <= kKernels);
      CHECK((lane["launches"][run] == 0) == (lane["in_graphs"][run] == 0));
    }
    submissions += sum_of(lane["submissions"]);
    in_graphs += sum_of(lane["in_graphs"]);
    held_issued += sum_of(lane["held_issued"]);
    launches += sum_of(lane["launches"]);
  }
  CHECK(submissions == report["submissions"]);
  CHECK(in_graphs == report["replayed"]);
  CHECK(in_graphs > 20 * kKernels);
  CHECK(held_issued == report["held_issued"]);
  CHECK(launches == report["launches"]);
}

TEST_CASE("the timeline tells what was held and issued one by one, and not of another interval") {
  constexpr std::uint64_t kBroken = 5;  // fewer than a chunk has
  constexpr int kAfter = 20;
  Rig rig(with_timeline(false));
  std::thread([&] {
    Program program(*rig.engine, rig.backend, rig.queue);
    steps_until_replayed(rig, program, 20);
    submit(program, kBroken);
    program.wait();
    steps(program, kAfter);
    submit(program, kBroken);  // and ends without a wait: what is held then is in no interval
  }).join();
  const auto broken = rig.report();
  REQUIRE(broken["timeline"].size() == 1);
  const auto& lane = broken["timeline"][0];
  const std::size_t run = lane["submissions"].size() - kAfter - 1;
  CHECK(lane["submissions"][run] == kBroken);
  CHECK(lane["held_issued"][run] == kBroken);
  CHECK(lane["launches"][run] == 0);
  CHECK(broken["held_issued"] == sum_of(lane["held_issued"]) + kBroken);
  std::thread([&] {  // goes on with the same lane
    Program program(*rig.engine, rig.backend, rig.queue);
    steps(program, 1);
  })
      .join();
  const auto timeline = rig.report()["timeline"];
  REQUIRE(timeline.size() == 1);
  REQUIRE(timeline[0]["submissions"].size() == lane["submissions"].size() + 1);
  CHECK(timeline[0]["held_issued"].back() == 0);
}

TEST_CASE("the timeline tells how long chunks were to be, and why they became others") {
  env::Settings settings = with_timeline(false);  // so that there is one plan
  settings.chunk_max = 0;
  Rig rig(settings);
  Program program(*rig.engine, rig.backend, rig.queue);
  program.own_ns = 20'000;  // so much that chunks need not begin small
  const auto chunks = [&] { return rig.report()["timeline"][0]["chunks"]; };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (chunks().size() < 2 && std::chrono::steady_clock::now() < until) {
    steps(program, 20);
  }
  const auto told = chunks();
  REQUIRE(told.size() >= 2);
  CHECK(told[0]["why"] == "start");
  CHECK(told[0]["at_ns"] == 0);
  CHECK(told[0]["first"] < told[0]["longest"]);
  CHECK(told[1]["why"] == "pace");
  CHECK(told[1]["plan"] == told[0]["plan"]);
  CHECK(told[1]["first"] == told[1]["longest"]);
  CHECK(told[1]["at_ns"] > 0);
}

TEST_CASE("the timeline tells which chunk plans are tried") {
  Rig rig(with_timeline(true));
  Program program(*rig.engine, rig.backend, rig.queue);
  program.own_ns = 2'000;
  program.issue_cost_ns = 20'000;  // graphs pay
  const auto tried = [&] {
    const auto chunks = rig.report()["timeline"][0]["chunks"];
    return std::ranges::any_of(chunks,
                               [](const auto& change) { return change["why"] == "trial" && change["plan"] != 0; });
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool found = false;
  while (!found && std::chrono::steady_clock::now() < until) {
    steps(program, 20);
    rig.engine->wait_idle();
    found = tried();
  }
  CHECK(found);
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
