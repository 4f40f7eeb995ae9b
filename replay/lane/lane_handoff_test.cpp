#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "replay/engine_test_support.h"
#include "test/support/meeting.h"

namespace refrain::replay {
namespace {

using test::ArithmeticBackend;
using test::Program;
using test::TestHooks;

constexpr int kIterations = 60, kForward = 21, kBackward = 34, kStep = 10;

TEST_CASE("two threads that take turns with a queue divide their work there, and nothing is held across") {
  env::Settings settings;
  settings.gate = false;
  settings.report = false;
  settings.chunk_max = 256;
  settings.hold_limit_us = 1'000'000;  // nothing that depends on how fast the test runs
  ArithmeticBackend backend;
  TestHooks hooks{backend};
  Engine engine(settings, backend, hooks, nullptr);
  QueueSlot queue;
  queue.info.id = 1;
  engine.adopt_queue(queue);

  // As PyTorch trains: forward and the optimizer's step in one thread, backward in another one, which never waits.
  std::vector<test::Arrived> submitted;
  std::uint64_t late = 0;  // submissions by the second half that were held and then issued one by one
  const auto held_issued = [&] {
    return nlohmann::json::parse(engine.report_json())["held_issued"].get<std::uint64_t>();
  };
  const auto submit = [&](Program& program, std::uint64_t first, int count) {
    for (int k = 0; k < count; ++k) {
      const auto kernel = first + static_cast<std::uint64_t>(k);
      program.kernel(kernel, 7 + kernel % 3, kernel);
      submitted.push_back(program.submitted.back());
    }
  };
  refrain::test::Semaphore backward(0), step(0);
  std::thread other([&] {
    Program program(engine, backend, queue);
    for (int i = 0; i < kIterations; ++i) {
      backward.acquire();
      submit(program, 200, kBackward);
      step.release();
    }
  });
  Program program(engine, backend, queue);
  for (int i = 0; i < kIterations; ++i) {
    submit(program, 100, kForward);
    backward.release();
    step.acquire();
    submit(program, 300, kStep);
    program.wait();
    engine.wait_idle();
    if (i == kIterations / 2) {
      late = held_issued();
    }
  }
  other.join();
  CHECK(backend.log() == submitted);
  CHECK(held_issued() == late);
  const auto report = nlohmann::json::parse(engine.report_json());
  CHECK(report["cut_by"]["another thread's work in the same queue"].get<int>() > kIterations);
  CHECK(report["replayed"].get<int>() > report["submissions"].get<int>() * 8 / 10);
}

// The other one is not dormant, or the layer would not have asked: nothing of it may be held across this one's work.
TEST_CASE("a dormant lane looks again when its queue was another thread's") {
  env::Settings settings;
  settings.report = false;
  settings.dormant_after = 64;
  ArithmeticBackend backend;
  TestHooks hooks{backend};
  Engine engine(settings, backend, hooks, nullptr);
  QueueSlot queue;
  queue.info.id = 1;
  engine.adopt_queue(queue);
  Program program(engine, backend, queue);
  for (int round = 0; round < 1000 && !engine.lane().is_dormant(); ++round) {
    for (std::uint64_t k = 0; k < 20; ++k) {
      program.kernel(k, 1, 1, 0, "never held");
    }
    program.wait();
  }
  REQUIRE(engine.lane().is_dormant());
  program.kernel(1, 1, 1, 0, "never held");
  CHECK(engine.lane().is_dormant());
  std::thread([&] { Program(engine, backend, queue).kernel(2, 1, 1); }).join();
  program.kernel(1, 1, 1, 0, "never held");
  CHECK_FALSE(engine.lane().is_dormant());
}

}  // namespace
}  // namespace refrain::replay
