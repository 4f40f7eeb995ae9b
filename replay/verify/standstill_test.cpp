#include "replay/verify/standstill.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using refrain::replay::QueueSlot;
using refrain::replay::Standstill;

TEST_CASE("a submission waits for the verification, and the other way round") {
  Standstill standstill;
  std::atomic<int> shared{0};  // what a verification must find unchanged
  std::atomic<bool> disturbed{false};
  std::atomic<int> verified{0};
  const auto submit = [&] {
    for (int i = 0; i < 2000; ++i) {
      standstill.enter({});
      shared.fetch_add(1);
      std::this_thread::yield();
      shared.fetch_add(1);
      standstill.leave();
    }
  };
  const auto verify = [&] {
    for (int i = 0; i < 200; ++i) {
      if (!standstill.stop({})) {
        continue;
      }
      const int before = shared.load();
      std::this_thread::yield();
      disturbed = disturbed || before % 2 != 0 || shared.load() != before;
      ++verified;
      standstill.resume();
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
  Standstill standstill;
  standstill.enter({});
  CHECK_FALSE(standstill.stop({}));
  standstill.enter({});  // nested, as from a callback; must not wait
  standstill.leave();
  standstill.leave();
  REQUIRE(standstill.stop({}));
  standstill.resume();
}

TEST_CASE("a queue that goes away waits for the verification that may use it") {
  Standstill standstill;
  QueueSlot queue;
  queue.info.id = 7;
  standstill.add(queue);
  QueueSlot* const queues[] = {&queue};
  REQUIRE(standstill.stop(queues));
  std::atomic<bool> gone{false};
  std::thread other([&] {
    standstill.forget(queue);
    gone = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(gone);
  standstill.resume();
  other.join();
  CHECK(gone);
}
