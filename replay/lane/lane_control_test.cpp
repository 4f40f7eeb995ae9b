// Stopped and started again by the program or its user, and the regions that the program names.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using test::constant;
using test::loop;
using test::Program;
using test::quiet;
using test::Rig;

constexpr int kLength = 12;

TEST_CASE("stopped: what is held leaves, nothing is held or looked at, until it is started") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, kLength, constant);
  const std::uint64_t replayed = rig.report()["replayed"];
  REQUIRE(replayed > 0);
  for (int k = 0; k < 3; ++k) {
    REQUIRE(program.kernel(100 + k, 7 + k % 3, constant(0, k)) == 0);
  }
  REQUIRE(rig.engine->anything_held());
  rig.engine->stop();
  CHECK_FALSE(rig.engine->anything_held());
  CHECK(rig.backend.log() == program.submitted);
  const std::uint64_t before = rig.report()["replayed"];
  loop(rig, program, 50, kLength, constant);
  CHECK(rig.report()["replayed"] == before);
  CHECK(rig.report()["stopped"] == 50 * kLength);
  CHECK(program.predicted > 0);
  rig.engine->start();
  loop(rig, program, 50, kLength, constant);
  CHECK(rig.report()["replayed"] > before + std::uint64_t{30} * kLength);
  CHECK(rig.backend.log() == program.submitted);
}

TEST_CASE("stopped by another thread while submissions are predicted") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, kLength, constant);
  std::thread([&] { rig.engine->stop(); }).join();
  const std::uint64_t before = rig.report()["replayed"];
  loop(rig, program, 10, kLength, constant);
  CHECK(rig.report()["replayed"] == before);
  std::thread([&] { rig.engine->start(); }).join();
  loop(rig, program, 30, kLength, constant);
  CHECK(rig.report()["replayed"] > before);
  CHECK(rig.backend.log() == program.submitted);
}

TEST_CASE("not at work from the beginning, where the user wants that, in any mode") {
  const auto mode = GENERATE(env::Mode::kObserve, env::Mode::kCapture, env::Mode::kReplay, env::Mode::kVerify);
  env::Settings settings = quiet(false);
  settings.mode = mode;
  settings.start = false;
  Rig rig(settings);
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, kLength, constant);
  CHECK(rig.report()["stopped"] == 30 * kLength);
  CHECK(rig.report()["submissions"] == 30 * kLength);
  CHECK(rig.report()["replayed"] == 0);
  CHECK(rig.report()["followed"] == 0);
  rig.engine->start();
  loop(rig, program, 30, kLength, constant);
  // The first submission finds out.
  CHECK(rig.report()["stopped"] <= 30 * kLength + 1);
  CHECK((rig.report()["replayed"] > 0) == env::replays(settings));
  if (mode != env::Mode::kVerify) {  // which does everything more than once
    CHECK(rig.backend.log() == program.submitted);
  }
}

TEST_CASE("stopped in verify mode: what is submitted waits while another lane compares", "[promise-1]") {
  env::Settings settings = quiet(false);
  settings.mode = env::Mode::kVerify;
  Rig rig(settings);
  VerificationPause& pause = *rig.engine->context().verification_pause;
  rig.engine->stop();
  std::atomic<int> submitted{0}, allowed{0}, failed{0};
  std::thread other([&] {
    Program program(*rig.engine, rig.backend, rig.queue);
    for (int k = 0; k < 3; ++k) {
      while (allowed == k) {
        std::this_thread::yield();
      }
      failed += program.kernel(100, 7, static_cast<std::uint64_t>(k)) == 0 ? 0 : 1;
      ++submitted;
    }
  });
  const auto waits_for_comparison = [&](int k) {
    REQUIRE(pause.begin());
    ++allowed;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(submitted == k);
    pause.end();
    while (submitted == k) {
      std::this_thread::yield();
    }
  };
  waits_for_comparison(0);
  waits_for_comparison(1);
  rig.engine->start();
  waits_for_comparison(2);  // the lane has not heard of that yet
  other.join();
  CHECK(failed == 0);
  CHECK(rig.report()["stopped"] == 2);
}

TEST_CASE("the report tells what was submitted, and replayed, in each region") {
  const env::Region step{nullptr, 1, "step"}, forward{&step, 2, "forward"}, other{nullptr, 3, "other"};
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  const auto& enter = [&](const env::Region* region) { rig.engine->enter_region(region); };
  enter(&other);  // the thread has submitted nothing yet: its lane asks for itself
  loop(rig, program, 1, kLength, constant);
  for (int i = 0; i < 30; ++i) {
    enter(&step);
    loop(rig, program, 1, kLength, constant);
    enter(&forward);
    loop(rig, program, 1, kLength, constant);
    enter(&step);
    enter(nullptr);
  }
  enter(&other);
  loop(rig, program, 2, kLength, constant);
  const auto regions = rig.report()["regions"];
  REQUIRE(regions.size() == 3);
  CHECK(regions[0]["name"] == "other");
  CHECK(regions[0]["submissions"] == 2 * kLength);
  CHECK(regions[0]["entered"] == 1);
  CHECK(regions[1]["name"] == "step");
  CHECK(regions[1]["entered"] == 30);
  CHECK(regions[1]["submissions"] == 60 * kLength);
  CHECK(regions[2]["name"] == "step/forward");
  CHECK(regions[2]["entered"] == 30);
  CHECK(regions[2]["submissions"] == 30 * kLength);
  CHECK(regions[2]["replayed"] > 0);
  CHECK(regions[0]["replayed"].get<int>() + regions[1]["replayed"].get<int>() == rig.report()["replayed"].get<int>());
  CHECK_THAT(rig.engine->report(), Catch::Contains("step/forward") && Catch::Contains("entered 30 times"));

  // Another thread is in no region; one that goes on with its lane neither.
  std::thread([&] { loop(rig, program, 1, kLength, constant); }).join();
  CHECK(rig.report()["regions"] == regions);
}

}  // namespace
}  // namespace refrain::replay
