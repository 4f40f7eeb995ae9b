#include "replay/verify/verification_pause.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "replay/engine_test_support.h"

using refrain::replay::QueueSlot;
using refrain::replay::VerificationPatience;
using refrain::replay::VerificationPause;

TEST_CASE("a submission waits for the verification, and the other way round") {
  VerificationPause pause;
  std::atomic<int> shared{0};  // what a verification must find unchanged
  std::atomic<bool> disturbed{false};
  std::atomic<int> verified{0};
  const auto submit = [&] {
    for (int i = 0; i < 2000; ++i) {
      pause.enter();
      shared.fetch_add(1);
      std::this_thread::yield();
      shared.fetch_add(1);
      pause.leave();
    }
  };
  const auto verify = [&] {
    for (int i = 0; i < 200; ++i) {
      if (!pause.begin()) {
        continue;
      }
      const int before = shared.load();
      std::this_thread::yield();
      disturbed = disturbed || before % 2 != 0 || shared.load() != before;
      ++verified;
      pause.end();
    }
  };
  std::thread threads[] = {std::thread(submit), std::thread(submit), std::thread(verify), std::thread(verify)};
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK_FALSE(disturbed);
  CHECK(verified == 400);
  CHECK(shared == 8000);
}

TEST_CASE("a verification that would wait for ever gives up, and submissions go on") {
  VerificationPause pause;
  pause.enter();
  CHECK_FALSE(pause.begin());
  pause.enter();  // nested, as from a callback; must not wait
  pause.leave();
  pause.leave();
  REQUIRE(pause.begin());
  pause.end();
}

TEST_CASE("a queue that goes away waits for the verification that may use it") {
  VerificationPause pause;
  QueueSlot queue;
  queue.info.id = 7;
  pause.add(queue.info);
  REQUIRE(pause.begin());
  std::atomic<bool> gone{false};
  refrain::replay::test::ArithmeticBackend backend;
  std::thread other([&] {
    pause.forget(queue, backend, false);
    gone = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(gone);
  pause.end();
  other.join();
  CHECK(gone);
}

TEST_CASE("a submission waits for a verification that takes longer than work may be waited for") {
  VerificationPause pause;
  REQUIRE(pause.begin());
  std::atomic<bool> entered{false};
  std::thread other([&] {
    pause.enter();
    entered = true;
    pause.leave();
  });
  std::this_thread::sleep_for(VerificationPatience::kLongest + std::chrono::milliseconds(300));
  CHECK_FALSE(entered);
  pause.end();
  other.join();
  CHECK(entered);
}

TEST_CASE("waiting in vain again and again takes less and less time") {
  class Stuck final : public refrain::replay::test::ArithmeticBackend {
    bool finish_by(const refrain::capture::QueueInfo& /*queue*/, std::chrono::steady_clock::time_point until,
                   bool /*held*/) noexcept override {
      std::this_thread::sleep_until(until);
      return false;
    }
  } backend;
  VerificationPause pause;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    REQUIRE(pause.begin());
    CHECK_FALSE(pause.finish(backend, {{}}, true));
    pause.end();
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));  // 100 x 2 s otherwise
}

TEST_CASE("nothing is compared once work may be under way that nobody can wait for") {
  class Stuck final : public refrain::replay::test::ArithmeticBackend {
    bool finish_by(const refrain::capture::QueueInfo& /*queue*/, std::chrono::steady_clock::time_point /*until*/,
                   bool /*held*/) noexcept override {
      return false;
    }
  } stuck;
  refrain::replay::test::ArithmeticBackend backend;
  refrain::replay::test::TestHooks hooks(backend);
  VerificationPause pause;
  QueueSlot queue;
  queue.info.id = 7;
  pause.add(queue.info);
  pause.forget(queue, backend, true);  // it has ended
  CHECK(pause.why_not(hooks) == nullptr);
  pause.add(queue.info);
  SECTION("a queue was destroyed whose work does not end") {
    pause.forget(queue, stuck, true);
  }
  SECTION("a queue was destroyed, and nobody may wait") {
    pause.forget(queue, backend, false);
  }
  SECTION("the layer says so") {
    pause.cannot_know("of the layer");
  }
  CHECK(pause.why_not(hooks) != nullptr);
}
