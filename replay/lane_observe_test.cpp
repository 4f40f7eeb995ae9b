// Where nothing is ever held, a lane looks at several submissions together. Nothing may be lost or mixed up by it.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

struct Rig {
  explicit Rig(env::Mode mode) {
    env::Settings settings;
    settings.mode = mode;
    settings.report = false;
    engine = std::make_unique<Engine>(settings, backend, hooks, nullptr);
    queue.info.id = queue.info.handle = 1;
    engine->adopt_queue(queue);
  }
  int submit(capture::Token token, const char* unholdable = nullptr, int status = 0) {
    Lane& lane = engine->lane();
    REQUIRE(lane.submit({token, OperationKind::kKernel, &queue, unholdable}) == Verdict::kIssue);
    return lane.issued(status);
  }
  void wait(const EntryPoint& entry_point) {
    CHECK(engine->lane().host_call(entry_point) == 0);
    engine->lane().host_call_done(entry_point, true);
  }
  nlohmann::json report() { return nlohmann::json::parse(engine->report_json()); }

  test::ArithmeticBackend backend;
  test::TestHooks hooks{backend};
  std::unique_ptr<Engine> engine;
  QueueSlot queue;

  using OperationKind = capture::OperationKind;
};

// What they see does not differ, and only the first looks at several submissions together: without a recorder,
// capturing is observing one by one.
constexpr env::Mode kModes[] = {env::Mode::kObserve, env::Mode::kCapture};

const EntryPoint kWait{"wait"}, kQuery{"query"};

nlohmann::json report_of_random_program(env::Mode mode, unsigned seed) {
  Rig rig(mode);
  std::mt19937 random(seed);
  for (int i = 0; i < 400; ++i) {
    const auto length = static_cast<unsigned>(1 + random() % 90);
    const bool repeats = random() % 4 != 0;
    for (unsigned k = 0; k < length; ++k) {
      const capture::Token token = repeats ? 100 + k % 40 : random() | 1U;
      const bool unholdable = random() % 50 == 0;
      const int status = random() % 300 == 0 ? -5 : 0;
      CHECK(rig.submit(token, unholdable ? "it is profiled" : nullptr, status) == status);
    }
    if (random() % 3 != 0) {
      rig.wait(random() % 2 == 0 ? kWait : kQuery);
    }
  }
  nlohmann::json report = rig.report();
  report.erase("mode");
  report.erase("seconds");
  return report;
}

TEST_CASE("observing several submissions together finds what observing each finds") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    INFO(seed);
    const nlohmann::json together = report_of_random_program(kModes[0], seed);
    CHECK(together == report_of_random_program(kModes[1], seed));
    CHECK(together["followed"].get<int>() > together["submissions"].get<int>() / 4);
    CHECK(together["unholdable"]["it is profiled"].get<int>() > 0);
  }
}

TEST_CASE("a report counts every submission of its thread, and of threads that ended") {
  Rig rig(env::Mode::kObserve);
  for (int submissions = 1; submissions <= 100; ++submissions) {
    rig.submit(7);
    REQUIRE(rig.report()["submissions"] == submissions);
  }
  std::thread([&] {
    for (int i = 0; i < 45; ++i) {
      rig.submit(9);
    }
  }).join();
  CHECK(rig.report()["submissions"] == 145);
  rig.submit(7);
  rig.engine->shut_down();
  CHECK(rig.report()["submissions"] == 146);
}

}  // namespace
}  // namespace refrain::replay
