// Memory that runs out while held work is submitted: each operation reaches the driver once all the same.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <utility>

#include "replay/engine_test_support.h"

namespace refrain::replay {

/// This thread's next `new` fails.
thread_local bool no_memory = false;

namespace {

constexpr int kLength = 12, kHeld = 6;

TEST_CASE("when memory runs out between two held operations, those that the driver has are not submitted again") {
  env::Settings settings = test::quiet(false);
  settings.log_level = env::LogLevel::kOff;
  settings.chunk_first = settings.chunk_max = 64;
  test::Rig rig(settings);
  test::Program program(*rig.engine, rig.backend, rig.queue);
  test::loop(rig, program, 30, kLength, test::constant);
  const int waits = GENERATE(range(0, kHeld));  // the operation that finds no memory for its events
  for (int k = 0; k < kHeld; ++k) {
    REQUIRE(program.kernel(100 + k, 7 + k % 3, test::constant(0, k), 0, nullptr, k == waits ? 4711 : 0) == 0);
  }
  REQUIRE(rig.engine->anything_held());
  int failed = 0;
  rig.hooks.in_acquire = [&] { no_memory = failed++ == 0; };
  CHECK(program.wait() == 0);
  CHECK(failed == 2);  // the second time it found some
  CHECK_FALSE(rig.engine->active());
  CHECK_FALSE(rig.engine->anything_held());
  CHECK(rig.backend.log() == program.submitted);
}

}  // namespace
}  // namespace refrain::replay

// Not inline: the compiler would see them at one end of a piece of memory's life, and not at the other.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* memory = std::exchange(refrain::replay::no_memory, false) ? nullptr : std::malloc(bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
