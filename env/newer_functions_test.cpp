// Under names of their own: this C library may have the functions.
#include "env/newer_functions.cpp"  // NOLINT(bugprone-suspicious-include)

#include <catch2/catch.hpp>
#include <set>
#include <thread>

namespace refrain::env::newer {
namespace {

timespec in_ms(clockid_t clock, long ms) {
  timespec now{};
  clock_gettime(clock, &now);
  const timespec by{ms / 1000, ms % 1000 * 1000000};
  return ms < 0 ? timespec{now.tv_sec - 1, now.tv_nsec} : later(now, by);
}

TEST_CASE("waiting for a condition ends when it is told, and when the time is over") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
    CAPTURE(clock);
    REQUIRE(pthread_mutex_lock(&mutex) == 0);
    const timespec past = in_ms(clock, -1);
    CHECK(cond_clockwait(&condition, &mutex, clock, &past) == ETIMEDOUT);
    const timespec soon = in_ms(clock, 20);
    int result = 0;
    while (result == 0) {
      result = cond_clockwait(&condition, &mutex, clock, &soon);
    }
    CHECK(result == ETIMEDOUT);
    CHECK(is_over(left_until(clock, soon)));
    bool told = false;
    std::thread tells([&] {
      pthread_mutex_lock(&mutex);
      told = true;
      pthread_cond_signal(&condition);
      pthread_mutex_unlock(&mutex);
    });
    const timespec late = in_ms(clock, 100000);
    while (!told) {
      CHECK(cond_clockwait(&condition, &mutex, clock, &late) == 0);
    }
    CHECK(pthread_mutex_unlock(&mutex) == 0);  // it was taken again
    tells.join();
  }
}

TEST_CASE("a mutex is waited for as long as said") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const timespec soon = in_ms(CLOCK_MONOTONIC, 20);
  REQUIRE(mutex_clocklock(&mutex, CLOCK_MONOTONIC, &soon) == 0);
  CHECK(mutex_clocklock(&mutex, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  CHECK(is_over(left_until(CLOCK_MONOTONIC, soon)));
  pthread_mutex_unlock(&mutex);
}

TEST_CASE("a semaphore is waited for as long as said, and taken") {
  sem_t semaphore;
  REQUIRE(sem_init(&semaphore, 0, 1) == 0);
  const timespec soon = in_ms(CLOCK_MONOTONIC, 20);
  CHECK(newer::sem_clockwait(&semaphore, CLOCK_MONOTONIC, &soon) == 0);
  CHECK(newer::sem_clockwait(&semaphore, CLOCK_MONOTONIC, &soon) == -1);
  CHECK(errno == ETIMEDOUT);
  CHECK(is_over(left_until(CLOCK_MONOTONIC, soon)));
  CHECK(newer::sem_clockwait(&semaphore, CLOCK_PROCESS_CPUTIME_ID, &soon) == -1);
  CHECK(errno == EINVAL);
  sem_destroy(&semaphore);
}

TEST_CASE("other clocks, and moments that are none, are refused") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const timespec soon = in_ms(CLOCK_MONOTONIC, 20);
  CHECK(cond_clockwait(&condition, &mutex, CLOCK_PROCESS_CPUTIME_ID, &soon) == EINVAL);
  CHECK(mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &soon) == EINVAL);
  const timespec none{soon.tv_sec, kSecond};
  CHECK(cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &none) == EINVAL);
}

TEST_CASE("time is counted across seconds") {
  const timespec sum = later({1, kSecond - 1}, {2, 1});
  CHECK(sum.tv_sec == 4);
  CHECK(sum.tv_nsec == 0);
  CHECK(is_over(left_until(CLOCK_MONOTONIC, {0, 0})));
  const timespec end = in_ms(CLOCK_MONOTONIC, 1999);
  CHECK(left_until(CLOCK_MONOTONIC, end).tv_sec == 1);
}

TEST_CASE("random numbers differ") {
  std::set<uint32_t> numbers;
  for (int round = 0; round < 100; ++round) {
    numbers.insert(random_number());
  }
  CHECK(numbers.size() > 90);
}

TEST_CASE("the object that has an address is found, with its unwind table") {
  FoundObject ours{};
  REQUIRE(find_object(reinterpret_cast<void*>(&random_number), &ours) == 0);
  FoundObject c_library{};
  REQUIRE(find_object(reinterpret_cast<void*>(&::getrandom), &c_library) == 0);
  CHECK(ours.begin != c_library.begin);
  for (const FoundObject& object : {ours, c_library}) {
    CHECK(object.begin < object.unwind_table);
    CHECK(object.unwind_table < object.end);
  }
  CHECK(find_object(nullptr, &ours) == -1);
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  static_assert(sizeof(FoundObject) == sizeof(dl_find_object));
  dl_find_object same{};
  REQUIRE(::_dl_find_object(reinterpret_cast<void*>(&::getrandom), &same) == 0);
  CHECK(same.dlfo_eh_frame == c_library.unwind_table);
#endif
}

}  // namespace
}  // namespace refrain::env::newer
