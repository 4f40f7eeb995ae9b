// A test that never ends, for the test of hang.h: two threads wait for each other.
#include <catch2/catch.hpp>
#include <mutex>
#include <thread>

namespace {

void wait_for_the_other(std::mutex& mine, std::mutex& other) {
  const std::lock_guard first(mine);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::lock_guard second(other);
}

TEST_CASE("two threads wait for each other") {
  std::mutex a, b;
  std::thread thread([&] { wait_for_the_other(a, b); });
  wait_for_the_other(b, a);
  thread.join();
}

}  // namespace
