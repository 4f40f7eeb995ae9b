#include "layer/ending.h"

#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "env/exit_hooks.h"

namespace {

constexpr long kSecond = 1'000'000'000;

void (*at_end)() = nullptr;  ///< what runs before the process ends
sem_t driver;                ///< that a call hangs in
thread_local bool ends = false;
long waited_ns = 0;

}  // namespace

extern "C" {
REFRAIN_HOOK void refrain_at_end(void (*callback)()) {
  at_end = callback;
}
REFRAIN_HOOK void refrain_forget_end(void (* /*callback*/)()) {
  at_end = nullptr;
}

/// In the place of the C library's: who ends is told at once that the time is over.
int nanosleep(const timespec* pause, timespec* rest) {
  if (!ends) {
    return static_cast<int>(::syscall(SYS_nanosleep, pause, rest));
  }
  waited_ns += pause->tv_sec * kSecond + pause->tv_nsec;
  if (waited_ns > 100 * kSecond) {
    sem_post(&driver);  // it would wait for ever
  }
  return 0;
}
}

namespace refrain::layer {
namespace {

TEST_CASE("the end of a process waits for what is to be said, but two seconds at most where a driver hangs",
          "[promise-7]") {
  REQUIRE(sem_init(&driver, 0, 0) == 0);
  REQUIRE(watch_for_end([] {
    while (sem_wait(&driver) != 0 && errno == EINTR) {
    }
  }));
  REQUIRE(at_end != nullptr);
  ends = true;
  at_end();
  ends = false;
  CHECK(waited_ns > 0);
  CHECK(waited_ns <= 2 * kSecond);
  sem_post(&driver);
  stop_watching_for_end();
  CHECK(at_end == nullptr);
}

}  // namespace
}  // namespace refrain::layer
