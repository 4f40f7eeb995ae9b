// Where nothing is ever held, a lane looks at several submissions together. Nothing may be lost or mixed up by it.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "replay/engine_test_support.h"
#include "replay/lane/handoff.h"

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
  /// As a layer does it that says later what the submission is, if the lane lets it.
  int keep(capture::Token token, const char* unholdable, int status) {
    Lane& lane = engine->lane();
    if (!lane.can_defer()) {
      return submit(token, unholdable, status);
    }
    lane.defer<Kept>(look_at, token, unholdable);
    return status == 0 ? status : lane.issued(status);
  }
  struct Kept {
    capture::Token token;
    const char* unholdable;
  };
  static inline bool asked = false;  ///< the newest look_at()'s
  static Noted look_at(const std::byte* bytes, bool may_ask) {
    Kept kept{};
    std::memcpy(&kept, bytes, sizeof(kept));
    asked = may_ask;
    return {kept.token, kept.unholdable};
  }
  /// As a layer does it with a call that submits and waits.
  void submit_and_wait(capture::Token token) {
    CHECK(submit(token, "it blocks") == 0);
    engine->lane().blocking_cut("blocking read buffer");
    engine->lane().host_call_done(kRead, true);
  }
  static constexpr EntryPoint kRead{"read"};
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

nlohmann::json report_of_random_program(env::Mode mode, unsigned seed, unsigned kept_of_eight = 0) {
  Rig rig(mode);
  std::mt19937 random(seed), other_random(seed);
  for (int i = 0; i < 400; ++i) {
    const auto length = static_cast<unsigned>(1 + random() % 90);
    const bool repeats = random() % 4 != 0;
    for (unsigned k = 0; k < length; ++k) {
      const capture::Token token = repeats ? 100 + k % 40 : random() | 1U;
      const bool unholdable = random() % 50 == 0;
      const int status = random() % 300 == 0 ? -5 : 0;
      const char* const why = unholdable ? "it is profiled" : nullptr;
      const bool keep = other_random() % 8 < kept_of_eight;
      CHECK((keep ? rig.keep(token, why, status) : rig.submit(token, why, status)) == status);
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

TEST_CASE("what is kept, for the layer to say later what it is, is found as what is told at once") {
  const unsigned kept_of_eight = GENERATE(1U, 7U, 8U);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    INFO(seed);
    CHECK(report_of_random_program(kModes[0], seed, kept_of_eight) == report_of_random_program(kModes[1], seed));
  }
}

TEST_CASE(
    "the driver may be asked what a kept submission is at a call of the program's, not by a report or at a thread's "
    "end") {
  Rig rig(env::Mode::kObserve);
  const char* const reason = "it is profiled";
  rig.keep(7, reason, 0);
  rig.wait(kWait);
  CHECK(Rig::asked);
  rig.keep(7, reason, 0);
  CHECK(rig.report()["unholdable"][reason] == 2);
  CHECK_FALSE(Rig::asked);
  rig.keep(7, reason, -5);
  CHECK(Rig::asked);
  std::thread([&] { rig.keep(7, reason, 0); }).join();
  CHECK_FALSE(Rig::asked);
  rig.keep(7, reason, 0);
  rig.engine->shut_down();
  CHECK_FALSE(Rig::asked);
  CHECK(rig.report()["submissions"] == 5);
}

namespace {

/// Keeps what a capture would be told of each operation: whether it is never held.
struct Listener : capture::Recorder, capture::Stream {
  void operation(const capture::OperationView& operation) noexcept override {
    at_once.push_back(operation.has(capture::kAtOnce));
    flags.push_back(operation.header().flags);
  }
  void host_call(const char* /*entry_point*/, std::uint64_t /*time_ns*/) noexcept override {}
  void cut(const char* why, std::uint64_t /*time_ns*/) noexcept override { cuts.emplace_back(why); }
  void region(const env::Region* /*region*/) noexcept override {}
  void define_all(const capture::Definitions& /*definitions*/) noexcept override {}
  void code(const capture::CodeInfo& /*info*/) noexcept override {}
  void contents(capture::ObjectId /*buffer*/, std::span<const std::byte> /*bytes*/) noexcept override {}
  [[nodiscard]] bool wants_contents() const noexcept override { return false; }
  capture::Stream& open_stream(std::uint64_t /*lane*/) override { return *this; }
  void flush() noexcept override {}
  std::vector<bool> at_once;
  std::vector<std::uint16_t> flags;
  std::vector<std::string> cuts;
};

}  // namespace

struct Captured {
  explicit Captured() : engine(capturing(), backend, hooks, &listener) {
    queue.info.id = queue.info.handle = 1;
    engine.adopt_queue(queue);
  }
  static env::Settings capturing() {
    env::Settings settings;
    settings.mode = env::Mode::kCapture;
    settings.report = false;
    return settings;
  }
  void submit(capture::OperationKind kind, const char* unholdable = nullptr, int status = 0, bool ends = false) {
    Lane& lane = engine.lane();
    const auto token = static_cast<capture::Token>(kind);
    REQUIRE(lane.submit({token, kind, &queue, unholdable, ends}) == Verdict::kDescribeAndIssue);
    capture::OperationWriter writer = lane.writer();
    writer.begin(kind, token);
    for (int i = 0; i < capture::word_count_of(kind); ++i) {
      writer.word(0);
    }
    writer.finish();
    CHECK(lane.issued(status) == status);
  }
  Listener listener;
  test::ArithmeticBackend backend;
  test::TestHooks hooks{backend};
  QueueSlot queue;
  Engine engine;
};

TEST_CASE("a capture is told what is never held: what the layer says, and what the device does not take") {
  Captured program;
  for (int i = 0; i < 2; ++i) {
    program.submit(capture::OperationKind::kKernel);
    program.submit(capture::OperationKind::kKernel, "its event is profiled");
    program.submit(capture::OperationKind::kCopyImage);  // this device has none in command buffers
    program.submit(capture::OperationKind::kKernel, nullptr, 0, true);
  }
  using namespace capture;
  CHECK(program.listener.at_once == std::vector<bool>{false, true, true, false, false, true, true, false});
  const std::vector<std::uint16_t> once{kRecordable, kAtOnce, kAtOnce | kBetween, kRecordable | kEndsHold};
  std::vector<std::uint16_t> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  CHECK(program.listener.flags == twice);
}

TEST_CASE("a capture is told where a lane's stretches end without a host call") {
  Captured program;
  program.submit(capture::OperationKind::kKernel);
  CHECK(program.listener.cuts.empty());
  program.submit(capture::OperationKind::kKernel, nullptr, -5);
  CHECK(program.listener.flags.size() == 1);  // what the driver refused was not submitted
  REQUIRE(program.listener.cuts.size() == 1);
  std::thread([&] { program.submit(capture::OperationKind::kKernel); }).join();
  program.submit(capture::OperationKind::kKernel);
  CHECK(program.listener.cuts.back() == kHandedOff);
}

TEST_CASE("a submission that the program waits for ends its stretch, and a wait behind it ends none") {
  Rig rig(GENERATE(env::Mode::kObserve, env::Mode::kCapture, env::Mode::kReplay));
  for (int i = 0; i < 3; ++i) {
    rig.submit(7);
    rig.submit_and_wait(8);
    rig.wait(kWait);
  }
  rig.submit(7);
  rig.wait(kWait);
  CHECK(rig.report()["cut_by"] == nlohmann::json{{"blocking read buffer", 3}, {"wait", 1}});
  CHECK(rig.report()["cuts"] == 4);
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
