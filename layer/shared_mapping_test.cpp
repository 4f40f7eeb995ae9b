#include "layer/shared_mapping.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <vector>

using refrain::layer::is_shared_mapping;

TEST_CASE("memory that other processes may have is told from a process's own") {
  constexpr std::size_t kBytes = 1U << 16U;
  const int kind = GENERATE(MAP_PRIVATE, MAP_SHARED);
  auto* const memory = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  const bool shared = kind == MAP_SHARED;
  CHECK(is_shared_mapping(memory, kBytes) == shared);
  CHECK(is_shared_mapping(memory + kBytes - 1, 1) == shared);
  CHECK(is_shared_mapping(memory + 1, 1) == shared);
  munmap(memory, kBytes);

  const std::vector<char> heap(100);
  const char stack = 0;
  CHECK_FALSE(is_shared_mapping(heap.data(), heap.size()));
  CHECK_FALSE(is_shared_mapping(&stack, 1));
}
