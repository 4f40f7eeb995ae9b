#include "replay/verify/verification_pause.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using refrain::replay::QueueSlot;
using refrain::replay::VerificationPause;

TEST_CASE("a submission waits for the verification, and the other way round") {
  VerificationPause pause;
  std::atomic<int> shared{0};  // what a verification must find unchanged
  std::atomic<bool> disturbed{false};
  std::atomic<int> verified{0};
  const auto submit = [&] {
    for (int i = 0; i < 2000; ++i) {
      pause.enter({});
      shared.fetch_add(1);
      std::this_thread::yield();
      shared.fetch_add(1);
      pause.leave();
    }
  };
  const auto verify = [&] {
    for (int i = 0; i < 200; ++i) {
      if (!pause.begin({})) {
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
  pause.enter({});
  CHECK_FALSE(pause.begin({}));
  pause.enter({});  // nested, as from a callback; must not wait
  pause.leave();
  pause.leave();
  REQUIRE(pause.begin({}));
  pause.end();
}

TEST_CASE("a queue that goes away waits for the verification that may use it") {
  VerificationPause pause;
  QueueSlot queue;
  queue.info.id = 7;
  pause.add(queue);
  QueueSlot* const queues[] = {&queue};
  REQUIRE(pause.begin(queues));
  std::atomic<bool> gone{false};
  std::thread other([&] {
    pause.forget(queue);
    gone = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(gone);
  pause.end();
  other.join();
  CHECK(gone);
}
