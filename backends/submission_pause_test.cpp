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
    const bool closed = pause.close(milliseconds(10));
    if (closed) {
      const int before = times;
      CHECK(inside == 0);
      std::this_thread::yield();
      CHECK(times == before);
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

}  // namespace refrain::backends
