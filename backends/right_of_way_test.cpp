#include "backends/right_of_way.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <thread>

namespace refrain::backends {
namespace {

using namespace std::chrono_literals;

void pass_patience() {
  std::this_thread::sleep_for(RightOfWay::kPatience + 100us);
}

}  // namespace

TEST_CASE("nobody waits while nothing is claimed, nor for a claim that is young") {
  RightOfWay right;
  CHECK(right.give() == 0);
  {
    const RightOfWay::Claim claim(right);
    const auto start = RightOfWay::Clock::now();
    const std::uint64_t waited = right.give();
    if (RightOfWay::Clock::now() - start < RightOfWay::kPatience) {  // else this thread was away for too long
      CHECK(waited == 0);
    }
  }
  pass_patience();
  CHECK(right.give() == 0);
}

TEST_CASE("a claim that takes too long is waited for, less and less often") {
  RightOfWay right;
  const auto start = RightOfWay::Clock::now();
  std::optional<RightOfWay::Claim> claim(right);
  pass_patience();
  const std::chrono::nanoseconds waited(right.give());
  CHECK(waited >= RightOfWay::kLongest);
  int times = 1;
  for (auto passed = 0ns; passed < 20ms || (times < 2 && passed < 20s); passed = RightOfWay::Clock::now() - start) {
    times += right.give() != 0 ? 1 : 0;
  }
  // The second time not before twice as long has passed since, and so on.
  int most = 0;
  for (auto passed = RightOfWay::Clock::now() - start; passed > RightOfWay::kPatience; passed /= 2) {
    ++most;
  }
  CHECK(times <= most);
  CHECK(times > 1);
  SECTION("that goes for one that begins meanwhile") {
    const RightOfWay::Claim another(right);
    claim.reset();
    const auto begin = RightOfWay::Clock::now();
    while (RightOfWay::Clock::now() - begin < 2ms) {
      times += right.give() != 0 ? 1 : 0;
    }
    CHECK(times <= most + 1);
  }
  SECTION("the next one is waited for as before") {
    claim.reset();
    CHECK(right.give() == 0);
    const RightOfWay::Claim next(right);
    pass_patience();
    CHECK(right.give() != 0);
  }
}

TEST_CASE("claims that overlap are over when the last one is") {
  RightOfWay right;
  std::optional<RightOfWay::Claim> first(right);
  std::optional<RightOfWay::Claim> second(right);
  CHECK(right.claimed());
  first.reset();
  CHECK(right.claimed());
  second.reset();
  CHECK_FALSE(right.claimed());
}

TEST_CASE("whoever waits goes on when the call is over") {
  // Where this machine lets the threads wait for each other for too long, it is tried again.
  constexpr auto kLongest = static_cast<std::uint64_t>(std::chrono::nanoseconds(RightOfWay::kLongest).count());
  bool at_once = false;
  const auto end = RightOfWay::Clock::now() + 20s;
  while (!at_once && RightOfWay::Clock::now() < end) {
    RightOfWay right;
    std::optional<RightOfWay::Claim> claim(right);
    pass_patience();
    std::atomic<bool> ready{false};
    std::uint64_t waited = 0;
    std::thread thread([&] {
      ready = true;
      waited = right.give();
    });
    while (!ready) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(20us);
    claim.reset();
    thread.join();
    at_once = waited != 0 && waited < kLongest;
    CHECK(right.given_ns() == waited);
  }
  CHECK(at_once);
}

}  // namespace refrain::backends
