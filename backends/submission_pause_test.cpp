#include "backends/submission_pause.h"

#include <catch2/catch.hpp>
#include <thread>

namespace refrain::backends {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST_CASE("nobody submits between close and open") {
  SubmissionPause pause;
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

TEST_CASE("who is inside keeps it open, and who waits for too long goes on") {
  SubmissionPause pause;
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
  SubmissionPause pause;
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
