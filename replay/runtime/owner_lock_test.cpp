#include "replay/runtime/owner_lock.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace refrain::replay {

TEST_CASE("an owner's lock lets one thread in at a time, however often its owner takes it") {
  OwnerLock lock;
  std::uint64_t inside = 0;  // of no atomic type: a thread sanitizer is to see that the lock orders it
  constexpr std::uint64_t kOwn = 200'000, kOthers = 2'000;
  std::atomic<bool> go{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!go.load()) {
      }
      for (std::uint64_t n = 0; n < kOthers; ++n) {
        const std::lock_guard guard(lock);
        ++inside;
      }
    });
  }
  go.store(true);
  for (std::uint64_t n = 0; n < kOwn; ++n) {
    const std::lock_guard guard(lock);
    ++inside;
  }
  for (std::thread& other : others) {
    other.join();
  }
  CHECK(inside == kOwn + 3 * kOthers);
}

TEST_CASE("who waits for an owner's lock for long sleeps, and gets it") {
  OwnerLock lock;
  lock.lock();
  std::atomic<bool> got{false};
  int error = 0;
  std::thread other([&] {
    errno = EDOM;
    const std::lock_guard guard(lock);
    error = errno;
    got.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(got.load());
  lock.unlock();
  other.join();
  CHECK(got.load());
  CHECK(error == EDOM);  // the program's, which knows of no lock
}

}  // namespace refrain::replay
