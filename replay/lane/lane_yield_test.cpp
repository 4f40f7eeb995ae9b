// Whoever submits anything lets a build in that the driver keeps out: see backends/exclusive_call_yield.h.
#include <catch2/catch.hpp>
#include <deque>
#include <thread>

#include "replay/engine_test_support.h"
#include "replay/lane/lane.h"
#include "test/support/meeting.h"

namespace refrain::replay {
namespace {

using backends::ExclusiveCallYield;
using test::Program;
using test::Rig;

constexpr int kLength = 24;

env::Settings settings(bool gate) {
  env::Settings settings = test::quiet(gate);
  settings.chunk_first = kLength;
  settings.chunk_max = kLength;
  return settings;
}

/// Threads that have submitted something, and are there until it goes.
class Others {
 public:
  Others(Rig& rig, int count) {
    for (int i = 0; i < count; ++i) {
      QueueSlot& queue = queues_.emplace_back();
      queue.info.id = queue.info.handle = 10 + static_cast<std::uint64_t>(i);
      rig.engine->adopt_queue(queue);
      threads_.emplace_back([this, &rig, &queue] {
        Program(*rig.engine, rig.backend, queue).kernel(1, 90, 1);
        here_.release();
        end_.acquire();
      });
      here_.acquire();
    }
  }
  ~Others() {
    end_.release(static_cast<std::ptrdiff_t>(threads_.size()));
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;

 private:
  refrain::test::Semaphore here_{0}, end_{0};
  std::deque<QueueSlot> queues_;
  std::vector<std::thread> threads_;
};

/// While a build has been kept out for longer than anybody is patient; nanoseconds for which `submit` waited.
template <class Submit>
std::uint64_t given_by(Rig& rig, const Submit& submit) {
  ExclusiveCallYield& right = rig.backend.exclusive_call_yield();
  const ExclusiveCallYield::Claim claim(right);
  std::this_thread::sleep_for(2 * ExclusiveCallYield::kPatience);
  const std::uint64_t before = right.given_ns();
  submit();
  return right.given_ns() - before;
}

}  // namespace

TEST_CASE("a submission that is passed on yields to a build") {
  Rig rig(settings(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  program.kernel(1, 7, 1);
  {
    const Others others(rig, 2);
    CHECK(given_by(rig, [&] { program.kernel(3, 7, 1); }) == 0);  // so few keep nothing out
  }
  const Others others(rig, 3);
  const std::uint64_t given = given_by(rig, [&] { program.kernel(2, 7, 1); });
  CHECK(given > 0);
  CHECK(rig.report()["yielded_ms"] == static_cast<double>(given) / 1e6);
  CHECK(rig.engine->report().find("threads waited") != std::string::npos);
}

TEST_CASE("held work yields when it is launched, and when it is issued") {
  Rig rig(settings(false));
  Program program(*rig.engine, rig.backend, rig.queue);
  test::loop(rig, program, 32, kLength, test::constant);
  const auto hold = [&](int first, int count) {
    for (int k = first; k < first + count; ++k) {
      program.kernel(100 + k, 7 + k % 3, test::constant(0, k));
    }
  };
  const Others others(rig, 3);
  const auto launches = [&] { return rig.report()["launches"].get<int>(); };
  const int before = launches();
  SECTION("launched") {
    hold(0, kLength - 1);
    CHECK(given_by(rig, [&] { hold(kLength - 1, 1); }) > 0);
    CHECK(launches() == before + 1);
  }
  SECTION("launched by one that has to be looked at") {
    constexpr int kLast = kLength - 1;
    hold(0, kLast);
    CHECK(given_by(rig, [&] { program.kernel(100 + kLast, 7 + kLast % 3, test::constant(0, kLast), 5); }) > 0);
    CHECK(launches() == before + 1);
  }
  SECTION("issued at a wait") {
    hold(0, kLength / 2);
    CHECK(given_by(rig, [&] { program.wait(); }) > 0);
    CHECK(launches() == before);
  }
  SECTION("held only") {
    CHECK(given_by(rig, [&] { hold(0, kLength / 2); }) == 0);
  }
  program.wait();
  const auto own = [&](const test::Arrived& one) { return one.queue == rig.queue.info.id; };
  std::vector<test::Arrived> arrived;
  std::ranges::copy_if(rig.backend.log(), std::back_inserter(arrived), own);
  CHECK(arrived == program.submitted);
}

TEST_CASE("a thread that does not look at what it submits yields as well") {
  env::Settings gated = settings(true);
  gated.trial_budget_permille = 1000;
  Rig rig(gated);
  Program program(*rig.engine, rig.backend, rig.queue);
  rig.backend.enqueue_cost_ns = 300'000;  // nothing pays
  for (int round = 0; round < 20'000 && !rig.engine->lane().is_dormant(); ++round) {
    test::loop(rig, program, 1, kLength, test::constant);
  }
  REQUIRE(rig.engine->lane().is_dormant());
  const Others others(rig, 3);
  const std::uint64_t spent = rig.engine->context().budget.spent_ns();
  const std::uint64_t given = given_by(rig, [&] { rig.engine->lane().tick_dormant(); });
  CHECK(given > 0);
  CHECK(rig.engine->context().budget.spent_ns() == spent + given);  // of the trial budget
}

}  // namespace refrain::replay
