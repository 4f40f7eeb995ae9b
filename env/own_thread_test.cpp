#include "env/own_thread.h"

#include <catch2/catch.hpp>
#include <vector>

namespace refrain::env {
namespace {

/// All that can be blocked.
std::vector<int> signals() {
  std::vector<int> numbers;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    const bool of_system = number == SIGKILL || number == SIGSTOP || (number > 31 && number < SIGRTMIN);
    if (!of_system) numbers.push_back(number);
  }
  return numbers;
}

TEST_CASE("a thread of Refrain's blocks all signals, and who starts it those that it did before") {
  sigset_t before;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR2);
  sigset_t theirs;
  REQUIRE(pthread_sigmask(SIG_SETMASK, &before, &theirs) == 0);
  sigset_t ours;
  sigemptyset(&ours);
  OwnThread thread;
  REQUIRE(thread.start(
      "refrain-test", [](void* mask) noexcept { pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t*>(mask)); },
      &ours));
  thread.join();
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, &theirs, &after);
  for (const int number : signals()) {
    CAPTURE(number);
    CHECK(sigismember(&ours, number) == 1);
    CHECK(sigismember(&after, number) == sigismember(&before, number));
  }
}

}  // namespace
}  // namespace refrain::env
