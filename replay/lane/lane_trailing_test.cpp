// Calls that wait behind what a lane holds.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using test::constant;
using test::loop;
using test::Program;
using test::quiet;
using test::Rig;

std::vector<std::uint64_t> made;  // by which calls
int answer = 0;                   // of the driver

int make(const TrailingCall& call) noexcept {
  made.push_back(call.what);
  return answer;
}

TrailingCall call(std::uint64_t what, std::uint64_t bytes = 8, std::uint64_t group = 0) {
  return {&make, 1, group, bytes, what};
}

/// A program that is replayed, and holds its first three kernels now.
struct Holding {
  static env::Settings settings() {
    env::Settings settings = quiet(false);
    settings.chunk_first = settings.chunk_max = 64;
    return settings;
  }
  Rig rig{settings()};
  Program program{*rig.engine, rig.backend, rig.queue};
  Lane& lane;

  Holding() : lane(rig.engine->lane()) {
    made.clear();
    answer = 0;
    loop(rig, program, 30, 12, constant);
    begin(0, 3);
    REQUIRE(rig.engine->anything_held());
  }
  void begin(int from, int to) {
    for (int k = from; k < to; ++k) {
      REQUIRE(program.kernel(100 + k, 7 + k % 3, constant(0, k)) == 0);
    }
  }
};

TEST_CASE("calls that wait are made in their order, behind what is held") {
  Holding holding;
  CHECK(holding.lane.may_trail());
  REQUIRE(holding.lane.trail(call(1)));
  REQUIRE(holding.lane.trail(call(2)));
  CHECK(made.empty());
  holding.program.wait();
  CHECK(made == std::vector<std::uint64_t>{1, 2});
  CHECK_FALSE(holding.rig.engine->anything_held());
}

TEST_CASE("the newest call that waits and is like the one asked for is taken back") {
  Holding holding;
  const TrailingCall in_another_queue{&make, 2, 0, 8, 5};
  for (const TrailingCall& each : {call(1), call(2), call(3, 9), call(4, 8, 1), in_another_queue}) {
    REQUIRE(holding.lane.trail(each));
  }
  std::uint64_t what = 0;
  REQUIRE(holding.lane.take_back(call(0), &what));
  CHECK(what == 2);
  REQUIRE(holding.lane.take_back(call(0), &what));
  CHECK(what == 1);
  CHECK_FALSE(holding.lane.take_back(call(0), &what));
  holding.program.wait();
  CHECK(made == std::vector<std::uint64_t>{3, 4, 5});
}

TEST_CASE("a chunk that is launched leaves waiting calls alone") {
  Holding holding;
  REQUIRE(holding.lane.trail(call(1)));
  holding.begin(3, 12);
  CHECK(holding.rig.engine->anything_held());
  CHECK(made.empty());
  holding.program.wait();
  CHECK(made.size() == 1);
}

TEST_CASE("another thread that flushes makes waiting calls, also where nothing else is held", "[promise-2]") {
  Holding holding;
  REQUIRE(holding.lane.trail(call(1)));
  const bool launched = GENERATE(false, true);
  if (launched) {
    holding.begin(3, 12);
  }
  std::thread([&] { holding.rig.engine->flush_others(); }).join();
  CHECK(made.size() == 1);
  CHECK_FALSE(holding.rig.engine->anything_held());
  std::uint64_t what = 0;
  CHECK_FALSE(holding.lane.take_back(call(0), &what));
}

TEST_CASE("an error of a waiting call is told once, by the call that has it made or the thread's next", "[promise-5]") {
  Holding holding;
  static const EntryPoint entry_point{"a call"};
  answer = 7;
  REQUIRE(holding.lane.trail(call(1)));
  if (GENERATE(false, true)) {
    std::thread([&] { holding.rig.engine->flush_others(); }).join();
  }
  CHECK(holding.lane.host_call(entry_point) == 7);
  CHECK(holding.lane.host_call(entry_point) == 0);
}

TEST_CASE("nothing waits behind work that is not held, nor where Refrain was stopped or gave up", "[promise-7]") {
  Holding holding;
  SECTION("issued") {
    holding.program.wait();
    REQUIRE(holding.program.kernel(9999, 7, constant(0, 0)) == 0);
  }
  SECTION("stopped") {
    holding.rig.engine->stop();
  }
  SECTION("failed") {
    holding.rig.engine->fail("a test");
  }
  CHECK_FALSE(holding.lane.may_trail());
}

TEST_CASE("there is an end to the memory that waiting calls keep from others", "[promise-3]") {
  Holding holding;
  CHECK_FALSE(holding.lane.trail(call(1, std::uint64_t{5} << 30U)));
  REQUIRE(holding.lane.trail(call(2, std::uint64_t{600} << 20U)));
  CHECK_FALSE(holding.lane.trail(call(3, std::uint64_t{600} << 20U)));
  std::uint64_t what = 0;
  REQUIRE(holding.lane.take_back(call(0, std::uint64_t{600} << 20U), &what));
  REQUIRE(holding.lane.trail(call(3, std::uint64_t{600} << 20U)));
  holding.program.wait();
  CHECK(made == std::vector<std::uint64_t>{3});
}

TEST_CASE("a verification waits for all queues, and what is submitted beside what is held waits for it",
          "[promise-1]") {
  class Finishing final : public test::ArithmeticBackend {
   public:
    bool finish_by(const capture::QueueInfo& queue, std::chrono::steady_clock::time_point /*until*/,
                   bool /*held*/) noexcept override {
      finished.push_back(queue.id);
      return true;
    }
    std::vector<capture::ObjectId> finished;
  } backend;
  env::Settings settings = quiet(false);
  settings.mode = env::Mode::kVerify;
  test::TestHooks hooks(backend);
  Engine engine(settings, backend, hooks, nullptr);
  QueueSlot first, second;
  first.info.id = first.info.handle = 1;
  second.info.id = second.info.handle = 2;
  engine.adopt_queue(first);
  engine.adopt_queue(second);
  VerificationPause& pause = *engine.context().verification_pause;
  const auto finished_for = [&](const QueueSlot& verified) {
    REQUIRE(pause.begin());
    backend.finished.clear();
    CHECK(pause.finish(backend, {verified.info}, true));
    pause.end();
    return backend.finished;
  };
  // Host calls submit as well: all other queues are waited for, each time.
  CHECK(finished_for(first) == std::vector<capture::ObjectId>{2, 1});
  CHECK(finished_for(second) == std::vector<capture::ObjectId>{1, 2});

  // While it is under way nothing is submitted beside it.
  REQUIRE(pause.begin());
  std::atomic<bool> submitted{false};
  std::thread other([&] { submitted = engine.lane().beside([] { return true; }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(submitted);
  pause.end();
  other.join();
  CHECK(submitted);

  // Nor what waited behind it.
  made.clear();
  REQUIRE(pause.begin());
  std::atomic<bool> waits{false}, all_made{false};
  std::thread trailing([&] {
    waits = engine.lane().trail(call(5));
    engine.lane().flush(false);
    all_made = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(all_made);
  pause.end();
  trailing.join();
  CHECK(waits);
  CHECK(made == std::vector<std::uint64_t>{5});
}

}  // namespace
}  // namespace refrain::replay
