// Our `new` and the memory of exceptions when malloc() fails: this program's malloc() does when it is told to.
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "env/reserve.h"

// The C library's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}
// NOLINTEND(readability-identifier-naming)

namespace {

thread_local bool failing = false;  // other threads (test/support/hang.cpp) have memory

/// What it runs finds no memory.
template <class Work>
auto without_memory(Work&& work) {
  struct Again {
    ~Again() { failing = false; }
  } again;
  failing = true;
  return work();
}

struct alignas(256) Wide {
  std::byte bytes[256];
};

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) noexcept {
  if (failing) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return failing ? nullptr : __libc_memalign(alignment, bytes);
}
}

namespace refrain {
namespace {

TEST_CASE("exceptions can be thrown without memory, also within one another, and again and again") {
  const auto nested = [](auto self, int depth) -> int {
    try {
      throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
      return depth == 0 ? 1 : 1 + self(self, depth - 1);
    }
  };
  for (int i = 0; i < 2000; ++i) {
    REQUIRE(without_memory([&] { return nested(nested, 20); }) == 21);
  }
}

TEST_CASE("without memory new throws, but not where the reserve may be used", "[promise-7]") {
  const bool threw = without_memory([] {
    try {
      const std::vector<int> number(1, 7);
      return number[0] != 7;
    } catch (const std::bad_alloc&) {
      return true;
    }
  });
  CHECK(threw);
  const std::unique_ptr<int> none(without_memory([] { return new (std::nothrow) int; }));
  CHECK(none == nullptr);
  const int sum = without_memory([] {
    const env::UseReserve reserve;
    std::vector<int> numbers;
    for (int i = 0; i < 1000; ++i) {
      numbers.push_back(i);
    }
    return reserve.used() ? numbers[1] + numbers[999] : 0;
  });
  CHECK(sum == 1000);
  const env::UseReserve with_memory;
  CHECK(std::vector<int>(1, 7)[0] == 7);
  CHECK_FALSE(with_memory.used());
}

TEST_CASE("what is given back to the reserve can be used again, and what is aligned is") {
  for (int i = 0; i < 10'000; ++i) {
    const bool good = without_memory([] {
      const env::UseReserve reserve;
      const auto wide = std::make_unique<Wide>();
      const std::vector<char> more(1000, 'x');
      return reinterpret_cast<std::uintptr_t>(wide.get()) % alignof(Wide) == 0 && more.back() == 'x';
    });
    REQUIRE(good);
  }
}

TEST_CASE("the reserve has an end, which new tells") {
  const bool threw = without_memory([] {
    const env::UseReserve reserve;
    try {
      const std::vector<char> much(1 << 20);
      return false;
    } catch (const std::bad_alloc&) {
      return true;
    }
  });
  CHECK(threw);
}

}  // namespace
}  // namespace refrain
