#include "replay/runtime/clock.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>

namespace refrain::replay {
namespace {

std::uint64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Both clocks at the same moment, as far as that is possible.
struct Moment {
  std::uint64_t ours = 0, system = 0;
  static Moment now() {
    Moment best;
    std::uint64_t closest = ~std::uint64_t{0};
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t before = monotonic_ns();
      const std::uint64_t ours = now_ns();
      const std::uint64_t took = monotonic_ns() - before;
      if (took < closest) {
        closest = took;
        best = {ours, before + took / 2};
      }
    }
    return best;
  }
};

/// By how many millionths a clock that is used for the first time is too fast or too slow, once it has had time.
int deviation() {
  constexpr useconds_t kToSettle = 6'000, kCompared = 5'000;
  static_cast<void>(now_ns());
  usleep(kToSettle);
  const Moment begin = Moment::now();
  usleep(kCompared);
  const Moment end = Moment::now();
  const auto ours = static_cast<double>(end.ours - begin.ours);
  const auto system = static_cast<double>(end.system - begin.system);
  return static_cast<int>(std::min(std::abs(ours / system - 1.0) * 1e6, 1e9));
}

TEST_CASE("the clock goes as fast as the system's") {
  // It is calibrated once in a process; one of them may be disturbed just then.
  std::array<int, 5> deviations{};
  for (int& each : deviations) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const int found = deviation();
      _exit(write(pipe[1], &found, sizeof found) == sizeof found ? 0 : 1);
    }
    close(pipe[1]);
    REQUIRE(read(pipe[0], &each, sizeof each) == sizeof each);
    REQUIRE(waitpid(child, nullptr, 0) == child);
    close(pipe[0]);
  }
  std::ranges::sort(deviations);
  CAPTURE(deviations);
  CHECK(deviations[2] < 200);
}

}  // namespace
}  // namespace refrain::replay
