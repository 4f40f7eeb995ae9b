#include "replay/runtime/watchdog.h"

#include <pthread.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "replay/runtime/clock.h"

namespace refrain::replay {
namespace {

constexpr std::uint64_t kLimit = 1'000'000;

TEST_CASE("held work is due after three quarters of the hold limit", "[promise-3]") {
  std::uint64_t oldest = 0;
  Watchdog watchdog(kLimit, kLimit, [&](std::uint64_t oldest_ns, bool) {
    oldest = oldest_ns;
    return std::uint64_t{7};
  });
  const std::uint64_t before = now_ns();
  CHECK(watchdog.look() == 7);
  const std::uint64_t after = now_ns();
  CHECK(oldest >= before - kLimit / 4 * 3);
  CHECK(oldest <= after - kLimit / 4 * 3);
}

TEST_CASE("the watchdog looks while something is held, sleeps when nothing is, and can be woken again", "[promise-3]") {
  std::atomic<std::uint64_t> looks{0};
  std::atomic<std::uint64_t> held_since{0};
  Watchdog watchdog(kLimit, kLimit, [&](std::uint64_t, bool) {
    ++looks;
    return held_since.load();
  });
  const auto wait_for = [](auto condition) {
    for (int i = 0; i < 10'000 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return condition();
  };
  const auto rests = [&] {  // no look for 50 times the limit
    const std::uint64_t seen = looks;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return looks == seen;
  };
  REQUIRE(watchdog.start());
  for (int round = 0; round < 2; ++round) {
    held_since = now_ns();
    const std::uint64_t seen = looks;
    watchdog.arm();
    CHECK(wait_for([&] { return looks > seen + 40; }));  // more than it looks when nothing is held
    held_since = 0;
    CHECK(wait_for(rests));
  }
  watchdog.stop();
}

TEST_CASE("a watchdog in a hurry looks for threads that rest", "[promise-3]") {
  constexpr std::uint64_t kNever = 3'600'000'000'000;
  std::atomic<int> looks{0}, hurried{0};
  std::atomic<std::uint64_t> held_since{1};
  Watchdog watchdog(kNever, kLimit, [&](std::uint64_t, bool rests) {
    ++looks;
    hurried += rests ? 1 : 0;
    return held_since.load();
  });
  REQUIRE(watchdog.start());
  watchdog.arm();
  watchdog.hurry();
  for (int i = 0; i < 10'000 && hurried < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(hurried >= 10);
  watchdog.stop();
  CHECK(looks - hurried <= 1);  // but for a look before it was told
}

TEST_CASE("a watchdog that can have no thread says so, and starts later", "[promise-3]") {
  Watchdog watchdog(kLimit, kLimit, [](std::uint64_t, bool) { return std::uint64_t{0}; });
  pthread_attr_t usual;
  REQUIRE(pthread_getattr_default_np(&usual) == 0);
  pthread_attr_t too_large = usual;
  REQUIRE(pthread_attr_setstacksize(&too_large, std::size_t{1} << 50U) == 0);  // more than there are addresses
  REQUIRE(pthread_setattr_default_np(&too_large) == 0);
  const bool started = watchdog.start();
  REQUIRE(pthread_setattr_default_np(&usual) == 0);
  pthread_attr_destroy(&usual);
  CHECK_FALSE(started);
  CHECK(watchdog.start());
}

}  // namespace
}  // namespace refrain::replay
