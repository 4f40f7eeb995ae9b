#include "backends/submission_pause.h"

#include <catch2/catch.hpp>
#include <thread>

namespace refrain::backends {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST_CASE("nobody submits between close and open") {
  env::StuckCheck closer{"a test"};
  SubmissionPause pause{closer};
  SubmissionPause::Place place;
  pause.add(place);
  std::atomic<bool> over{false};
  std::atomic<int> inside{0}, times{0};
  std::thread submitting([&] {
    while (!over) {
      pause.enter(place);
      ++inside;
      ++times;
      --inside;
      SubmissionPause::leave(place);
    }
  });
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const bool closed = pause.close(milliseconds(10));
    const int then = inside;
    const int before = times;
    std::this_thread::yield();
    const int after = times;
    // On a busy machine this thread may rest for so long that the other one goes on.
    if (closed && std::chrono::steady_clock::now() - start < milliseconds(10)) {
      CHECK(then == 0);
      CHECK(after == before);
    }
    pause.open();
  }
  over = true;
  submitting.join();
  CHECK(times > 0);
  pause.remove(place);
}

/// A litmus test: each writes its own and reads the other's. With a release for the store of who enters, an x86-64
/// processor lets both pass in many runs of this, but not in all.
TEST_CASE("of who enters and who closes at the same moment one sees the other") {
  env::StuckCheck closer{"a test"};
  SubmissionPause pause{closer};
  SubmissionPause::Place place;
  pause.add(place);
  std::atomic<int> begun{0}, entered{0}, looked{0};
  const auto reached = [](const std::atomic<int>& what, int round) {
    for (int spin = 0; what.load(std::memory_order_acquire) < round; ++spin) {
      if (spin > 10'000) {
        std::this_thread::yield();
      }
    }
  };
  constexpr int kLast = 1 << 30;
  std::thread submitting([&] {
    for (int round = 1; begun.load(std::memory_order_acquire) != kLast; ++round) {
      reached(begun, round);
      pause.enter(place);
      entered.store(round, std::memory_order_release);
      reached(looked, round);
      SubmissionPause::leave(place);
    }
  });
  const auto until = std::chrono::steady_clock::now() + milliseconds(300);
  int round = 0, both = 0;
  while (std::chrono::steady_clock::now() < until) {
    const auto start = std::chrono::steady_clock::now();
    begun.store(++round, std::memory_order_release);
    const bool closed = pause.close(microseconds(0));
    for (int spin = 0; closed && entered < round && spin < 100; ++spin) {
    }
    const bool passed = entered == round;
    // Behind its longest wait the other one goes on.
    both += closed && passed && std::chrono::steady_clock::now() - start < milliseconds(10) ? 1 : 0;
    pause.open();
    looked.store(round, std::memory_order_release);
  }
  looked.store(kLast, std::memory_order_release);
  begun.store(kLast, std::memory_order_release);
  submitting.join();
  CHECK(both == 0);
  pause.remove(place);
}

TEST_CASE("who is inside keeps it open, and who waits for too long goes on") {
  env::StuckCheck closer{"a test"};
  SubmissionPause pause{closer};
  SubmissionPause::Place one, other;
  pause.add(one);
  pause.add(other);
  pause.enter(one);
  CHECK_FALSE(pause.close(microseconds(200)));
  pause.enter(other);  // closed for ever: returns nevertheless
  CHECK(other.inside);
  pause.open();
  SubmissionPause::leave(one);
  SubmissionPause::leave(other);
  CHECK(pause.close(microseconds(200)));
  pause.open();
  pause.remove(one);
  CHECK(pause.close(microseconds(200)));
  pause.open();
  pause.remove(other);
}

TEST_CASE("who waits does so anew for each closing") {
  env::StuckCheck closer{"a test"};
  SubmissionPause pause{closer};
  SubmissionPause::Place place;
  pause.add(place);
  std::atomic<bool> entered{false};
  REQUIRE(pause.close(milliseconds(10)));
  std::thread submitting([&] {
    pause.enter(place);
    entered = true;
    SubmissionPause::leave(place);
  });
  for (int i = 0; i < 60; ++i) {
    pause.open();
    const bool closed = pause.close(milliseconds(10));
    if (!closed || entered) {
      break;  // while it was open
    }
    std::this_thread::sleep_for(milliseconds(1));
    CHECK_FALSE(entered);
  }
  pause.open();
  submitting.join();
  CHECK(entered);
  pause.remove(place);
}

}  // namespace refrain::backends
