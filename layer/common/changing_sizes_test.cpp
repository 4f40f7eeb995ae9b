#include "layer/common/changing_sizes.h"

#include <catch2/catch.hpp>

namespace refrain::layer::common {

TEST_CASE("sizes that are new in many stretches keep changing from then on") {
  ChangingSizes sizes;
  for (std::uint64_t stretch = 1; stretch < 8; ++stretch) {
    CHECK_FALSE(sizes.note(stretch * 0x9E3779B97F4A7C15ULL, stretch));
  }
  CHECK(sizes.note(4711, 8));
  CHECK(sizes.change());
  CHECK(sizes.note(4711, 9));
  sizes.reset();
  CHECK_FALSE(sizes.change());
}

TEST_CASE("many sizes that all come in the first stretches, and come again, do not") {
  ChangingSizes sizes;
  for (std::uint64_t stretch = 1; stretch < 1000; ++stretch) {
    for (std::uint64_t size = 1; size < 60; ++size) {
      CHECK_FALSE(sizes.note((size + (stretch < 5 ? stretch : 5)) * 0x9E3779B97F4A7C15ULL, stretch));
    }
  }
}

}  // namespace refrain::layer::common
