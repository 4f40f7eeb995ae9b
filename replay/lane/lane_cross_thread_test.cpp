// Threads that have nothing to do with each other: what one holds is nobody else's business, until somebody observes
// it.
#include <catch2/catch.hpp>
#include <optional>
#include <thread>

#include "replay/engine_test_support.h"
#include "replay/lane/lane.h"
#include "test/support/meeting.h"

namespace refrain::replay {
namespace {

using test::Arrived;
using test::Program;
using test::Rig;

constexpr int kLength = 24;

env::Settings settings() {
  env::Settings settings = test::quiet(false);
  settings.chunk_first = kLength;
  settings.chunk_max = kLength;
  return settings;
}

/// Another thread, which learns a loop in a queue of its own and then holds half an iteration until the test is over.
class Other {
 public:
  Other(Rig& rig, capture::DefaultOrder order) : rig_(rig) {
    queue.info.id = queue.info.handle = 2;
    queue.info.role = 1;  // its graphs are its own
    queue.info.default_order = order;
    rig.engine->adopt_queue(queue);
    thread_ = std::thread([this] {
      Program program(*rig_.engine, rig_.backend, queue);
      test::loop(rig_, program, 32, kLength, test::constant);
      for (int k = 0; k < kLength / 2; ++k) {
        program.kernel(100 + k, 7 + k % 3, test::constant(0, k));
      }
      submitted = program.submitted;
      lane = rig_.engine->lane().number();
      sequence = rig_.engine->lane().next_sequence() - 1;
      holds_.release();
      end_.acquire();
    });
    holds_.acquire();
  }
  ~Other() {
    end_.release();
    thread_.join();
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  /// Of its submissions, those that reached the device.
  [[nodiscard]] std::size_t arrived() const {
    std::size_t count = 0;
    for (const Arrived& one : rig_.backend.log()) {
      count += one.queue == queue.info.id ? 1 : 0;
    }
    return count;
  }
  [[nodiscard]] bool holds() const { return arrived() == submitted.size() - kLength / 2; }

  QueueSlot queue;
  std::vector<Arrived> submitted;
  std::uint64_t lane = 0, sequence = 0;

 private:
  Rig& rig_;
  refrain::test::Semaphore holds_{0}, end_{0};
  std::thread thread_;
};

TEST_CASE("what another thread holds in a queue of its own stays held, and ends nothing that is predicted") {
  Rig rig(settings());
  // Queues that only a default queue orders have nothing to do with each other either.
  using Order = capture::DefaultOrder;
  const auto [own, others] =
      GENERATE(table<capture::DefaultOrder, capture::DefaultOrder>({{Order::kNone, Order::kNone},
                                                                    {Order::kNone, Order::kIsDefault},
                                                                    {Order::kWithDefault, Order::kNone},
                                                                    {Order::kWithDefault, Order::kWithDefault}}));
  rig.queue.info.default_order = own;
  Program program(*rig.engine, rig.backend, rig.queue);
  test::loop(rig, program, 32, kLength, test::constant);
  const Other other(rig, others);
  REQUIRE(other.holds());
  const int before = program.predicted;
  test::loop(rig, program, 20, kLength, test::constant);
  CHECK(program.predicted - before == 20 * kLength);
  static const EntryPoint wait{"wait for a queue"};
  CHECK(rig.engine->flush_own(wait) == 0);
  rig.engine->flush_holder(rig.queue);
  CHECK(other.holds());
}

TEST_CASE("where a default queue orders, what is predicted is looked at while another thread holds something") {
  Rig rig(settings());
  using Order = capture::DefaultOrder;
  const auto [own, others] = GENERATE(table<capture::DefaultOrder, capture::DefaultOrder>(
      {{Order::kWithDefault, Order::kIsDefault}, {Order::kIsDefault, Order::kWithDefault}}));
  rig.queue.info.default_order = own;
  Program program(*rig.engine, rig.backend, rig.queue);
  test::loop(rig, program, 32, kLength, test::constant);
  {
    const Other other(rig, others);
    const int before = program.predicted;
    test::loop(rig, program, 20, kLength, test::constant);
    CHECK(program.predicted == before);
  }
  const int before = program.predicted;
  test::loop(rig, program, 20, kLength, test::constant);
  CHECK(program.predicted > before);
}

TEST_CASE("what another thread holds is submitted for whoever observes it") {
  Rig rig(settings());
  Other other(rig, capture::DefaultOrder::kNone);
  REQUIRE(other.holds());
  static const EntryPoint call{"call"};
  SECTION("its queue") {
    rig.engine->flush_holder(other.queue);
  }
  SECTION("its newest submission") {
    rig.engine->flush_lane(other.lane, other.sequence);
  }
  SECTION("the oldest one that it holds") {
    rig.engine->flush_lane(other.lane, other.sequence - kLength / 2 + 1);
  }
  SECTION("whatever it holds") {
    rig.engine->flush_lane(other.lane);
  }
  SECTION("everything") {
    rig.engine->flush_all(call);
  }
  SECTION("everybody else's") {
    rig.engine->flush_others();
  }
  CHECK_FALSE(rig.engine->anything_held());
  CHECK(other.arrived() == other.submitted.size());
}

TEST_CASE("of what several threads hold, the watchdog is told since when the oldest is held") {
  const bool other_is_older = GENERATE(true, false);
  env::Settings patient = settings();
  patient.hold_limit_us = 60'000'000;
  Rig rig(patient);
  Program program(*rig.engine, rig.backend, rig.queue);
  test::loop(rig, program, 32, kLength, test::constant);
  const auto hold = [&] {
    for (int k = 0; k < kLength / 2; ++k) {
      program.kernel(100 + k, 7 + k % 3, test::constant(0, k));
    }
  };
  std::uint64_t between = 0;
  std::optional<Other> other;
  if (other_is_older) {
    other.emplace(rig, capture::DefaultOrder::kNone);
    between = now_ns();
    hold();
  } else {
    hold();
    between = now_ns();
    other.emplace(rig, capture::DefaultOrder::kNone);
  }
  REQUIRE(other->holds());
  REQUIRE(rig.queue.holder.load() != nullptr);
  const std::uint64_t since = rig.engine->context().watchdog.look();
  CHECK(since != 0);
  CHECK(since <= between);
  CHECK(other->holds());
  program.wait();
  other.reset();
}

TEST_CASE("what another thread submitted long ago is nothing to wait for") {
  Rig rig(settings());
  Other other(rig, capture::DefaultOrder::kNone);
  rig.engine->flush_lane(other.lane, other.sequence - kLength / 2);
  rig.engine->flush_lane(other.lane + 100, other.sequence);
  CHECK(rig.engine->anything_held());
  CHECK(other.holds());
}

}  // namespace
}  // namespace refrain::replay
