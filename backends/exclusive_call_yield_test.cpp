#include "backends/exclusive_call_yield.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <thread>

namespace refrain::backends {
namespace {

using namespace std::chrono_literals;

void pass_patience() {
  std::this_thread::sleep_for(ExclusiveCallYield::kPatience + 100us);
}

}  // namespace

TEST_CASE("nobody waits while nothing is claimed, nor for a claim that is young") {
  ExclusiveCallYield right;
  CHECK(right.yield_to() == 0);
  {
    const ExclusiveCallYield::Claim claim(right);
    const auto start = ExclusiveCallYield::Clock::now();
    const std::uint64_t waited = right.yield_to();
    if (ExclusiveCallYield::Clock::now() - start <
        ExclusiveCallYield::kPatience) {  // else this thread was away for too long
      CHECK(waited == 0);
    }
  }
  pass_patience();
  CHECK(right.yield_to() == 0);
}

TEST_CASE("a claim that takes too long is waited for, less and less often") {
  ExclusiveCallYield right;
  const auto start = ExclusiveCallYield::Clock::now();
  std::optional<ExclusiveCallYield::Claim> claim(right);
  pass_patience();
  const std::chrono::nanoseconds waited(right.yield_to());
  CHECK(waited >= ExclusiveCallYield::kLongest);
  int times = 1;
  for (auto passed = 0ns; passed < 20ms || (times < 2 && passed < 20s);
       passed = ExclusiveCallYield::Clock::now() - start) {
    times += right.yield_to() != 0 ? 1 : 0;
  }
  // The second time not before twice as long has passed since, and so on.
  int most = 0;
  for (auto passed = ExclusiveCallYield::Clock::now() - start; passed > ExclusiveCallYield::kPatience; passed /= 2) {
    ++most;
  }
  CHECK(times <= most);
  CHECK(times > 1);
  SECTION("that goes for one that begins meanwhile") {
    const ExclusiveCallYield::Claim another(right);
    claim.reset();
    const auto begin = ExclusiveCallYield::Clock::now();
    while (ExclusiveCallYield::Clock::now() - begin < 2ms) {
      times += right.yield_to() != 0 ? 1 : 0;
    }
    CHECK(times <= most + 1);
  }
  SECTION("the next one is waited for as before") {
    claim.reset();
    CHECK(right.yield_to() == 0);
    const ExclusiveCallYield::Claim next(right);
    pass_patience();
    CHECK(right.yield_to() != 0);
  }
}

TEST_CASE("claims that overlap are over when the last one is") {
  ExclusiveCallYield right;
  std::optional<ExclusiveCallYield::Claim> first(right);
  std::optional<ExclusiveCallYield::Claim> second(right);
  CHECK(right.claimed());
  first.reset();
  CHECK(right.claimed());
  second.reset();
  CHECK_FALSE(right.claimed());
}

TEST_CASE("whoever waits goes on when the call is over") {
  // Where this machine lets the threads wait for each other for too long, it is tried again.
  constexpr auto kLongest = static_cast<std::uint64_t>(std::chrono::nanoseconds(ExclusiveCallYield::kLongest).count());
  bool at_once = false;
  const auto end = ExclusiveCallYield::Clock::now() + 20s;
  while (!at_once && ExclusiveCallYield::Clock::now() < end) {
    ExclusiveCallYield right;
    std::optional<ExclusiveCallYield::Claim> claim(right);
    pass_patience();
    std::atomic<bool> ready{false};
    std::uint64_t waited = 0;
    std::thread thread([&] {
      ready = true;
      waited = right.yield_to();
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
