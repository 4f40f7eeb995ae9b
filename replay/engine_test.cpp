#include "replay/engine.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using test::constant;
using test::loop;
using test::of_set;
using test::Program;
using test::quiet;
using test::Rig;

TEST_CASE("a loop with equal arguments is replayed, in order") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 60, 20, constant);
  REQUIRE(rig.backend.log() == program.submitted);
  const auto report = rig.report();
  CHECK(report["submissions"] == 60 * 20);
  CHECK(report["replayed"].get<int>() > 60 * 20 / 2);
  CHECK(rig.hooks.retained == 0);
}

TEST_CASE("two alternating sets of arguments (ping-pong) are both replayed") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 80, 12, [](int i, int k) { return of_set(i % 2, k); });
  REQUIRE(rig.backend.log() == program.submitted);
  CHECK(rig.report()["replayed"].get<int>() > 80 * 12 / 2);
}

TEST_CASE("arguments that change each time are never replayed with old values") {
  for (const bool can_update : {false, true}) {
    env::Settings settings = quiet(false);
    // Not as long as the program's time suggests: a piece of a few launches without the one that changes would repeat.
    settings.chunk_first = settings.chunk_max = 64;
    Rig rig(settings, can_update);
    Program program(*rig.engine, rig.backend, rig.queue);
    loop(rig, program, 120, 8, [](int i, int k) { return static_cast<std::uint64_t>(k == 3 ? i : k); });
    REQUIRE(rig.backend.log() == program.submitted);
    const auto report = rig.report();
    if (can_update) {
      CHECK(report["replayed"].get<int>() > 120 * 8 / 2);
    } else {
      CHECK(report["replayed"] == 0);
      bool said = false;
      for (const auto& graph : report["graphs"]) {
        said = said || graph["reason"].get<std::string>().find("changes each time") != std::string::npos;
      }
      CHECK(said);
    }
  }
}

TEST_CASE("held work is submitted within the hold limit without any further call") {
  auto settings = quiet(false);
  settings.hold_limit_us = 20'000;
  Rig rig(settings);
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 40, 20, constant);
  for (int k = 0; k < 5; ++k) {  // the beginning of one more iteration, and then silence
    REQUIRE(program.kernel(100 + k, 7 + k % 3, constant(0, k)) == 0);
  }
  REQUIRE(rig.engine->anything_held());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (rig.engine->anything_held() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK_FALSE(rig.engine->anything_held());
  CHECK(rig.backend.log() == program.submitted);
  CHECK(rig.report()["expired"] == 1);
}

TEST_CASE("where others may wait, what a thread holds that rests is submitted long before the hold limit",
          "[promise-3]") {
  const bool others = GENERATE(true, false);
  CAPTURE(others);
  Rig rig(quiet(false));
  if (others) {
    rig.engine->others_may_wait("peer access");
  }
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 40, 20, constant);
  Watchdog& watchdog = rig.engine->context().watchdog;
  watchdog.stop();                             // it looks when the test says so
  const int before = rig.report()["expired"];  // on a busy machine the loop rested as well
  for (int k = 0; k < 5; ++k) {                // the beginning of one more iteration
    REQUIRE(program.kernel(100 + k, 7 + k % 3, constant(0, k)) == 0);
    CHECK(watchdog.look() != 0);
    REQUIRE(rig.engine->anything_held());  // something came since the last look
  }
  watchdog.look();
  CHECK(rig.engine->anything_held() == !others);
  CHECK(rig.report()["expired"] == before + (others ? 1 : 0));
  CHECK(rig.report()["notes"].size() == (others ? 1 : 0));
  REQUIRE(program.wait() == 0);
  CHECK(rig.backend.log() == program.submitted);
}

TEST_CASE("a command buffer that fails is replaced by eager execution, and retired") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, 8, constant);
  const auto launches = rig.report()["launches"].get<int>();
  REQUIRE(launches > 0);
  rig.backend.fail_enqueues = 1;
  loop(rig, program, 30, 8, constant);
  CHECK(rig.backend.log() == program.submitted);
  CHECK(rig.report()["launches"].get<int>() <= launches + 1);
}

TEST_CASE("the error of a held operation is reported by the call that flushes it") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, 8, constant);
  REQUIRE(program.kernel(100, 7, constant(0, 0)) == 0);
  REQUIRE(rig.engine->anything_held());
  rig.backend.fail_issues = 1;
  CHECK(program.wait() == -5);
  CHECK(program.wait() == 0);
}

TEST_CASE("what is held while its graphs still run is told apart from what went on differently") {
  Rig rig(quiet(false));
  rig.backend.simultaneous = false;
  std::atomic<bool> busy{false};
  rig.backend.busy = [&] { return busy.load(); };
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 60, 8, constant);
  const auto before = rig.report();
  REQUIRE(before["replayed"] > 0);
  busy = true;
  loop(rig, program, 10, 8, constant);
  const auto after = rig.report();
  const auto more = [&](const char* name) {
    return after[name].get<std::uint64_t>() - before[name].get<std::uint64_t>();
  };
  CHECK(more("replayed") == 0);
  CHECK(more("held_issued") >= 72);
  CHECK(more("held_not_ready") == more("held_issued"));
  CHECK_THAT(rig.engine->report(), Catch::Contains("the graph of it was being made, still ran"));
}

TEST_CASE("promised events are kept once each, whichever way the work goes") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  std::uint64_t promises = 0;
  for (int i = 0; i < 50; ++i) {
    for (int k = 0; k < 9; ++k) {
      const std::uint64_t before = rig.hooks.kept.size();
      program.kernel(100 + k, 7, 5, ++promises);
      static_cast<void>(before);
    }
    program.wait();
    rig.engine->wait_idle();
  }
  const auto report = rig.report();
  const auto held = report["replayed"].get<std::uint64_t>() + report["held_issued"].get<std::uint64_t>();
  REQUIRE(held > 0);
  CHECK(rig.hooks.kept.size() == held);
  for (const auto& [promise, status] : rig.hooks.kept) {
    CHECK(status == 0);
  }
  CHECK(rig.backend.live_events == 0);
}

TEST_CASE("promises of one graph are kept in their order") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  std::uint64_t promises = 0;
  for (int i = 0; i < 50; ++i) {
    for (int k = 0; k < 9; ++k) {
      program.kernel(100 + k, 7, 5, ++promises);
    }
    program.wait();
    rig.engine->wait_idle();
  }
  const auto report = rig.report();
  REQUIRE(report["replayed"].get<std::uint64_t>() > 100);
  CHECK(rig.hooks.order.size() == rig.hooks.kept.size());
  CHECK(std::is_sorted(rig.hooks.order.begin(), rig.hooks.order.end()));
  CHECK(rig.backend.live_events == 0);
}

TEST_CASE("graphs that name a freed object are gone when the release returns") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, 8, constant);
  REQUIRE(rig.backend.live_buffers > 0);
  rig.engine->object_gone(8);
  CHECK(rig.backend.live_buffers == 0);
  loop(rig, program, 10, 8, constant);
  CHECK(rig.backend.log() == program.submitted);
}

TEST_CASE("a queue that another thread destroys has all that was held for it, and its graphs are gone") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 30, 8, constant);
  for (std::uint64_t k = 0; k < 5; ++k) {
    REQUIRE(program.kernel(100 + k, 7 + k % 3, 1000 + k) == 0);
  }
  REQUIRE(rig.engine->anything_held());
  REQUIRE(rig.backend.live_buffers > 0);
  std::thread([&] { rig.engine->queue_gone(rig.queue); }).join();
  CHECK_FALSE(rig.engine->anything_held());
  CHECK(rig.backend.log() == program.submitted);
  CHECK(rig.backend.live_buffers == 0);
}

TEST_CASE("what a graph was changed to name is freed with it, too") {
  Rig rig(quiet(false), true);
  Program program(*rig.engine, rig.backend, rig.queue);
  std::uint64_t buffer = 1000;
  for (int i = 0; i < 60; ++i) {  // each time another one
    ++buffer;
    for (std::uint64_t k = 0; k < 8; ++k) {
      REQUIRE(program.kernel(100 + k, buffer, k) == 0);
    }
    REQUIRE(program.wait() == 0);
    rig.engine->wait_idle();
  }
  REQUIRE(rig.backend.updates > 10);
  const int before = rig.backend.live_buffers;
  rig.engine->object_gone(buffer);
  CHECK(rig.backend.live_buffers < before);
  CHECK(rig.backend.log() == program.submitted);
}

TEST_CASE("the gate declines a graph that is slower, and says what was measured", "[promise-6]") {
  auto settings = quiet(true);
  settings.trial_budget_permille = 1000;
  Rig rig(settings);
  rig.backend.enqueue_cost_ns = 300'000;
  Program program(*rig.engine, rig.backend, rig.queue);
  program.issue_cost_ns = 2'000;
  loop(rig, program, 200, 20, constant);
  CHECK(rig.backend.log() == program.submitted);
  const auto report = rig.report();
  bool said = false;
  for (const auto& graph : report["graphs"]) {
    said = said || (graph["reason"] == "it is not faster as a graph" && graph["replay_us"] > graph["eager_us"]);
  }
  CHECK(said);
  CHECK(report["replayed"].get<int>() < 200 * 20 / 4);
}

TEST_CASE("a lane in which nothing pays is dormant, and looks again after a while") {
  auto settings = quiet(true);
  settings.trial_budget_permille = 1000;
  Rig rig(settings);
  rig.backend.enqueue_cost_ns = 300'000;  // never pays
  Program program(*rig.engine, rig.backend, rig.queue);
  // Until the background thread has built and the gate declined, nothing is dormant: on a busy machine that takes long.
  int rounds = 0;
  int dormant = 0;
  for (; rounds < 1'000'000 && (rounds < 6000 || dormant <= 16'000); ++rounds) {
    for (int k = 0; k < 20; ++k) {
      program.kernel(100 + static_cast<std::uint64_t>(k), 7, 3);
    }
    program.wait();
    if (rounds % 1000 == 999) {
      rig.engine->wait_idle();
      dormant = rig.report()["dormant"].get<int>();
    }
  }
  CHECK(dormant > 16'000);
  CHECK(rig.report()["submissions"] == rounds * 20);
  CHECK(dormant < rounds * 20 - 2000);  // it looked at least twice
  rig.backend.enqueue_cost_ns = 0;      // now it would pay
  program.issue_cost_ns = 20'000;       // by far, also under sanitizers
  for (int i = 0; i < 20'000 && rig.report()["launches"].get<int>() < 100; ++i) {
    for (int k = 0; k < 20; ++k) {
      program.kernel(500 + static_cast<std::uint64_t>(k), 7, 3);
    }
    program.wait();
  }
  CHECK(rig.report()["launches"].get<int>() >= 100);
  CHECK(rig.backend.log() == program.submitted);
}

TEST_CASE("no lane is dormant because the graphs of another chunk plan do not become ready, where the first ones pay") {
  auto settings = quiet(true);
  settings.trial_budget_permille = 1000;
  settings.dormant_after = 500;
  settings.chunk_max = 0;  // several plans
  int dormant = 1;
  int replayed = 0;
  // On a busy machine the program's pace may seem to change, which asks for other lengths: once more then.
  for (int attempt = 0; attempt < 20 && dormant != 0; ++attempt) {
    Rig rig(settings);
    rig.backend.enqueue_cost_ns = 2'000;
    Program program(*rig.engine, rig.backend, rig.queue);
    program.issue_cost_ns = 20'000;
    program.own_ns = 1'000;  // what the machine adds to it asks for no other lengths
    // Until all graphs of the first plan are there.
    int whole = 0;
    for (int i = 0; i < 1000 && whole < 3; ++i) {
      const int before = rig.report()["replayed"].get<int>();
      loop(rig, program, 1, 70, constant);
      whole = rig.report()["replayed"].get<int>() - before == 70 ? whole + 1 : 0;
    }
    rig.backend.fail_records = 1'000'000;
    loop(rig, program, 500, 70, constant);
    CHECK(rig.backend.log() == program.submitted);
    dormant = rig.report()["dormant"].get<int>();
    replayed = rig.report()["replayed"].get<int>();
  }
  CHECK(dormant == 0);
  CHECK(replayed > 500 * 70 / 2);
}

TEST_CASE("the gate keeps a graph that is faster") {
  auto settings = quiet(true);
  settings.trial_budget_permille = 1000;
  Rig rig(settings);
  rig.backend.enqueue_cost_ns = 2'000;
  Program program(*rig.engine, rig.backend, rig.queue);
  program.issue_cost_ns = 50'000;  // so that an instrumented engine, too, costs little beside it
  loop(rig, program, 300, 20, constant);
  CHECK(rig.backend.log() == program.submitted);
  CHECK(rig.report()["replayed"].get<int>() > 300 * 20 / 2);
}

TEST_CASE("verify finds a graph that computes something else, and the application gets the right result") {
  auto settings = quiet(true);
  settings.mode = env::Mode::kVerify;
  settings.log_level = env::LogLevel::kOff;
  SECTION("a correct graph") {
    Rig rig(settings);
    Program program(*rig.engine, rig.backend, rig.queue);
    loop(rig, program, 40, 8, constant);
    const auto report = rig.report();
    CHECK(report["verified"].get<int>() > 0);
    CHECK(report["differences"] == 0);
    int launched = 0;  // those that were checked are among them
    for (const auto& graph : report["graphs"]) {
      launched += graph["launched"].get<int>();
    }
    CHECK(launched == report["launches"].get<int>());
  }
  SECTION("a planted fault") {
    Rig rig(settings);
    rig.backend.corrupt_replay = true;
    Program program(*rig.engine, rig.backend, rig.queue);
    loop(rig, program, 40, 8, constant);
    const auto report = rig.report();
    CHECK(report["differences"].get<int>() > 0);
    std::map<std::uint64_t, std::uint64_t> expected;
    for (const auto& operation : program.submitted) {
      expected[operation.buffer] = expected[operation.buffer] * 31 + operation.scalar;
    }
    CHECK(rig.backend.memory() == expected);
    bool named = false;
    for (const auto& graph : report["graphs"]) {
      named = named || graph["reason"].get<std::string>().find("byte 0 of buffer") != std::string::npos;
    }
    CHECK(named);
  }
  SECTION("nothing can be checked, and the report says why") {
    Rig rig(settings);
    rig.backend.addresses = true;
    rig.backend.corrupt_replay = true;
    Program program(*rig.engine, rig.backend, rig.queue);
    loop(rig, program, 40, 8, constant);
    CHECK(rig.backend.log() == program.submitted);
    const auto report = rig.report();
    CHECK(report["unverified"].get<int>() > 0);
    REQUIRE(report["unchecked"].size() == 1);
    CHECK(report["unchecked"].begin().value() == report["unverified"]);
    CHECK(rig.engine->report().find("verify checked 0 replays, 0 differences; ") != std::string::npos);
    CHECK(rig.engine->report().find("  this API's backend cannot compare memory by address") != std::string::npos);
  }
}

TEST_CASE("a driver that calls the application from inside a launch is no deadlock") {
  Rig rig(quiet(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  Program other(*rig.engine, rig.backend, rig.queue);
  rig.backend.in_enqueue = [&] {
    other.kernel(999, 50, 1);
    other.wait();
  };
  loop(rig, program, 40, 8, constant);
  rig.backend.in_enqueue = nullptr;
  CHECK(rig.report()["replayed"].get<int>() > 0);
}

TEST_CASE("random programs: everything arrives once, in order") {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    auto settings = quiet(seed % 3 == 0);
    settings.chunk_max = 4 + seed % 60;
    settings.chunk_first = 2 + seed % 7;
    settings.hold_limit_us = 100 + seed % 5 * 1000;
    settings.variants = 1 + seed % 4;
    Rig rig(settings, seed % 5 == 0);
    Program program(*rig.engine, rig.backend, rig.queue);
    std::mt19937 random(seed);
    std::vector<std::vector<int>> bodies(3);
    for (auto& body : bodies) {
      body.resize(3 + random() % 40);
      for (int& function : body) {
        function = static_cast<int>(random() % 12);
      }
    }
    for (int i = 0; i < 150; ++i) {
      const auto& body = bodies[random() % 10 < 8 ? 0 : random() % 3];
      for (const int function : body) {
        const std::uint64_t scalar = random() % 50 == 0 ? random() : static_cast<std::uint64_t>(function);
        program.kernel(static_cast<std::uint64_t>(function), 1 + static_cast<std::uint64_t>(function) % 4, scalar, 0,
                       random() % 200 == 0 ? "the test says so" : nullptr);
        if (random() % 300 == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
      }
      if (random() % 4 != 0) {
        program.wait();
      }
      if (i % 16 == 0) {
        rig.engine->wait_idle();
      }
    }
    program.wait();
    INFO("seed " << seed);
    REQUIRE(rig.backend.log() == program.submitted);
  }
}

TEST_CASE("threads with queues of their own, and one queue shared in turns") {
  Rig rig(quiet(false));
  constexpr int kThreads = 4;
  std::vector<std::unique_ptr<QueueSlot>> queues;
  std::vector<std::vector<test::Arrived>> submitted(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    queues.push_back(std::make_unique<QueueSlot>());
    queues.back()->info.id = 10 + static_cast<std::uint64_t>(t);
    rig.engine->adopt_queue(*queues.back());
  }
  std::mutex turns;
  std::vector<test::Arrived> shared;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Program own(*rig.engine, rig.backend, *queues[static_cast<std::size_t>(t)]);
      Program common(*rig.engine, rig.backend, rig.queue);
      for (int i = 0; i < 200; ++i) {
        for (int k = 0; k < 10; ++k) {
          own.kernel(static_cast<std::uint64_t>(k), 100 + static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(k));
        }
        {
          const std::lock_guard guard(turns);  // the program's own order between its threads
          for (int k = 0; k < 6; ++k) {
            common.kernel(50 + static_cast<std::uint64_t>(k), 99, of_set(t, k));
            shared.push_back(common.submitted.back());
          }
        }
        if (i % 3 == 0) {
          own.wait();
        }
      }
      own.wait();
      submitted[static_cast<std::size_t>(t)] = own.submitted;
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  const auto log = rig.backend.log();
  for (int t = 0; t < kThreads; ++t) {
    std::vector<test::Arrived> mine;
    for (const auto& arrived : log) {
      if (arrived.queue == 10 + static_cast<std::uint64_t>(t)) {
        mine.push_back(arrived);
      }
    }
    CHECK(mine == submitted[static_cast<std::size_t>(t)]);
  }
  std::vector<test::Arrived> common;
  for (const auto& arrived : log) {
    if (arrived.queue == 1) {
      common.push_back(arrived);
    }
  }
  CHECK(common == shared);
}

}  // namespace
}  // namespace refrain::replay
