// Linked as our libraries are. Run twice: once with a libgcc_s.so.1 that cannot be opened (TEST_WITHOUT_LIBGCC).
#include "layer/own_unwinder.h"

#include <pthread.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <stdexcept>

namespace refrain::layer {
namespace {

class CountsEnd {
 public:
  explicit CountsEnd(int* count) noexcept : count_(count) {}
  ~CountsEnd() { ++*count_; }
  CountsEnd(const CountsEnd&) = delete;
  CountsEnd& operator=(const CountsEnd&) = delete;

 private:
  int* count_;
};

[[gnu::noinline]] void fail(int depth, int* ended) {
  const CountsEnd end(ended);
  if (depth > 0) {
    fail(depth - 1, ended);
  }
  throw std::runtime_error("depth " + std::to_string(depth));
}

TEST_CASE("the unwinder is the process's where it has one") {
  CHECK(has_shared_unwinder() == (std::getenv("TEST_WITHOUT_LIBGCC") == nullptr));
}

TEST_CASE("what is thrown is caught, thrown again, and ends what it passes") {
  int ended = 0;
  const auto pass_on = [&ended] {
    try {
      fail(9, &ended);
    } catch (const std::logic_error&) {
      FAIL();
    } catch (...) {
      throw;
    }
  };
  CHECK_THROWS_WITH(pass_on(), "depth 0");
  CHECK(ended == 10);
}

TEST_CASE("a thread that is cancelled ends what it has") {
  if (!has_shared_unwinder()) {
    return;  // the C library has nothing to do it with
  }
  static int ended;
  ended = 0;
  pthread_t thread{};
  void* result = nullptr;
  const auto wait = [](void*) -> void* {
    const CountsEnd first(&ended);
    try {
      const CountsEnd second(&ended);
      pthread_cancel(pthread_self());
      pthread_testcancel();
    } catch (const std::exception&) {
      ended = 100;
    }
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, nullptr, wait, nullptr) == 0);
  REQUIRE(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  CHECK(ended == 2);
}

}  // namespace
}  // namespace refrain::layer
