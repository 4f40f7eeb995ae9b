#include "env/stuck_check.h"

#include <catch2/catch.hpp>
#include <semaphore>
#include <thread>

namespace refrain::env {

TEST_CASE("a thread that calls nothing is not stuck, and one that goes on neither", "[promise-3]") {
  StuckCheck check("a test");
  CHECK_FALSE(check.stuck());
  check.begins();
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < StuckCheck::kLongest + std::chrono::milliseconds(200)) {
    std::this_thread::sleep_for(StuckCheck::kAsk);
    check.goes_on();
  }
  CHECK_FALSE(check.stuck());
  check.ends();
  std::this_thread::sleep_for(StuckCheck::kLongest + std::chrono::milliseconds(200));
  CHECK_FALSE(check.stuck());
  CHECK_FALSE(check.given_up());
}

TEST_CASE("who waits for a thread waits until it is done, and no longer than for a call", "[promise-3]") {
  static StuckCheck check("a test");
  static std::binary_semaphore begun{0}, returns{0};
  Mutex mutex;
  ConditionVariable changed;
  UniqueLock lock(mutex);
  CHECK(check.wait(changed, lock, [] { return true; }));
  std::thread([] {
    check.begins();
    begun.release();
    returns.acquire();
  }).detach();
  begun.acquire();
  CHECK_FALSE(check.awaited());
  bool known = false;
  CHECK_FALSE(check.wait(changed, lock, [&] {
    known = check.awaited();
    return false;
  }));
  CHECK(known);
  CHECK_FALSE(check.awaited());
  CHECK(check.given_up());
  returns.release();
}

TEST_CASE("a thread that was given up never goes on, and others do", "[promise-3]") {
  // Both are in use as long as the process lives.
  static StuckCheck check("a test");
  static std::atomic<bool> went_on{false};
  static std::binary_semaphore begun{0}, returns{0};
  std::thread([] {
    check.begins();
    begun.release();
    returns.acquire();
    check.goes_on();
    went_on = true;
  }).detach();
  begun.acquire();
  CHECK_FALSE(check.is_caller());
  std::this_thread::sleep_for(StuckCheck::kLongest + std::chrono::milliseconds(100));
  CHECK_FALSE(check.given_up());
  CHECK(check.stuck());
  CHECK(check.given_up());
  returns.release();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  CHECK_FALSE(went_on);
  CHECK(check.stuck());
}

}  // namespace refrain::env
