#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "replay/engine_test_support.h"
#include "replay/lane/lane.h"
#include "test/support/meeting.h"

namespace refrain::replay {
namespace {

using test::ArithmeticBackend;
using test::Program;
using test::Rig;
using test::TestHooks;

constexpr std::uint64_t kKernels = 30;

void step(Program& program, std::uint64_t first) {
  for (std::uint64_t k = 0; k < kKernels; ++k) {
    program.kernel(first + k, 7 + k % 3, k);
  }
  program.wait();
}

TEST_CASE("a thread that is started for each step of a loop goes on where the last one ended") {
  Rig rig(test::quiet(false));
  std::vector<test::Arrived> submitted;
  constexpr std::uint64_t kSteps = 60;
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    std::thread([&] {
      Program program(*rig.engine, rig.backend, rig.queue);
      step(program, 100);
      submitted.insert(submitted.end(), program.submitted.begin(), program.submitted.end());
    }).join();
    rig.engine->wait_idle();
  }
  CHECK(rig.backend.log() == submitted);
  const auto report = rig.report();
  CHECK(report["submissions"].get<std::uint64_t>() == kSteps * kKernels);
  CHECK(report["lanes"].get<int>() == 1);
  CHECK(report["replayed"].get<std::uint64_t>() > kSteps * kKernels * 8 / 10);
}

TEST_CASE("threads that are started together have their predecessors' work, each its own") {
  constexpr std::uint64_t kSteps = 40, kThreads = 4;
  ArithmeticBackend backend;
  TestHooks hooks{backend};
  Engine engine(test::quiet(false), backend, hooks, nullptr);
  std::array<QueueSlot, kThreads> queues;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    queues[i].info.id = queues[i].info.handle = i + 1;
    queues[i].info.role = static_cast<std::uint32_t>(i);
    engine.adopt_queue(queues[i]);
  }
  const auto submit = [&](refrain::test::Meeting& together) {
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Program program(engine, backend, queues[i]);
        for (std::uint64_t k = 0; k < kKernels; ++k) {
          program.kernel(100 * i + k, 10 * i, k);
          if (k == 0) {
            together.arrive_and_wait();  // all are there, so that each has a lane of its own
          }
        }
        program.wait();
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  };
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    refrain::test::Meeting together(kThreads);
    submit(together);
    engine.wait_idle();
  }
  const auto report = nlohmann::json::parse(engine.report_json());
  CHECK(report["lanes"].get<std::uint64_t>() == kThreads);
  // Which thread gets which lane differs from step to step: each of them knows the work of all after some steps.
  CHECK(report["replayed"].get<std::uint64_t>() > kSteps * kThreads * kKernels / 2);
  // Of each queue everything arrives once, in order.
  std::array<std::vector<test::Arrived>, kThreads> arrived;
  for (const test::Arrived& operation : backend.log()) {
    arrived[operation.queue - 1].push_back(operation);
  }
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    std::vector<test::Arrived> submitted;
    for (std::uint64_t k = 0; k < kSteps * kKernels; ++k) {
      submitted.push_back({i + 1, 10 * i, k % kKernels, false});
    }
    CHECK(arrived[i] == submitted);
  }
}

TEST_CASE("what a thread holds when it ends is submitted, and its successor is not told of errors") {
  Rig rig(test::quiet(false));
  for (int i = 0; i < 40; ++i) {
    std::thread([&] {
      Program program(*rig.engine, rig.backend, rig.queue);
      step(program, 100);
    }).join();
    rig.engine->wait_idle();
  }
  const std::size_t before = rig.backend.log().size();
  std::thread([&] {
    Program program(*rig.engine, rig.backend, rig.queue);
    for (std::uint64_t k = 0; k < 5; ++k) {
      CHECK(program.kernel(100 + k, 7 + k % 3, k) == 0);
    }
    CHECK(rig.engine->anything_held());
    rig.backend.fail_issues = 1;
  }).join();
  CHECK(rig.backend.fail_issues == 0);
  CHECK_FALSE(rig.engine->anything_held());
  CHECK(rig.backend.log().size() == before + 4);
  std::thread([&] {
    Program program(*rig.engine, rig.backend, rig.queue);
    CHECK(program.kernel(100, 7, 0) == 0);
    CHECK(program.wait() == 0);
  }).join();
  CHECK(rig.report()["cut_by"]["the end of its thread"].get<int>() == 1);
}

/// An object of the thread that submits when it is destroyed, which is after the lane was closed.
struct Late {
  std::function<void()> work;
  ~Late() {
    if (work) {
      work();
    }
  }
};
thread_local Late late;

TEST_CASE("the end of the process is watched once more before anything is held, or nothing is held") {
  const bool watched = GENERATE(true, false);
  Rig rig(test::quiet(false));
  rig.hooks.exit_watched = watched;
  Program program(*rig.engine, rig.backend, rig.queue);
  bool held = false;
  for (int i = 0; i < 40; ++i) {
    for (std::uint64_t k = 0; k < kKernels; ++k) {
      CHECK(program.kernel(100 + k, 7 + k % 3, k) == 0);
      if (rig.engine->anything_held()) {
        held = true;
        CHECK(rig.hooks.exit_watches == 1);
      }
    }
    CHECK(program.wait() == 0);
    rig.engine->wait_idle();
  }
  CHECK(held == watched);
  CHECK(rig.hooks.exit_watches == 1);
  CHECK(rig.engine->active() == watched);
}

TEST_CASE("a thread whose objects submit after its lane was closed leaves none behind") {
  Rig rig(test::quiet(false));
  for (int i = 0; i < 10; ++i) {
    std::thread([&] {
      late.work = [&] { Program(*rig.engine, rig.backend, rig.queue).kernel(1, 1, 1); };  // before the lane is opened
      Program program(*rig.engine, rig.backend, rig.queue);
      step(program, 100);
    }).join();
  }
  const auto report = rig.report();
  CHECK(report["lanes"].get<int>() == 1);
  CHECK(report["submissions"].get<std::uint64_t>() == 10 * (kKernels + 1));
  CHECK(rig.backend.log().size() == 10 * (kKernels + 1));
}

TEST_CASE("a stretch that a thread leaves without a wait does not go on in the next thread", "[promise-6]") {
  Rig rig(test::quiet(true));
  std::thread([&] {
    Program program(*rig.engine, rig.backend, rig.queue);
    program.kernel(100, 7, 1);
    CHECK(rig.engine->lane().intervals().open());
  }).join();
  std::thread([&] {
    CHECK(rig.engine->lane().number() == 1);  // the same one
    CHECK_FALSE(rig.engine->lane().intervals().open());
  }).join();
}

}  // namespace
}  // namespace refrain::replay
