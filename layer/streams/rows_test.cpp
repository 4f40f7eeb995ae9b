#include "layer/streams/rows.h"

#include <catch2/catch.hpp>

namespace refrain::layer::streams {
namespace {

TEST_CASE("copies of rows: numbers that do not count are those of the whole", "[promise-5]") {
  // One row: no pitch counts, not even one that is too small.
  const auto row = plain_copy({{0x100, 3, 0}, {0x900, 0, 7}, 16, 1, 1});
  REQUIRE(row);
  CHECK(row->to.pitch == 16);
  CHECK(row->from.pitch == 16);
  CHECK(row->from.rows_of_slice == 1);
  CHECK(row->bytes_of(row->to) == 16);
  // One slice: rows of a slice do not.
  const auto slice = plain_copy({{0x100, 32, 1}, {0x900, 16, 9}, 16, 4, 1});
  REQUIRE(slice);
  CHECK(slice->to.rows_of_slice == 4);
  CHECK(slice->from.rows_of_slice == 4);
  CHECK(slice->bytes_of(slice->to) == 3 * 32 + 16);
  CHECK(slice->bytes_of(slice->from) == 4 * 16);
  const auto slices = plain_copy({{0x100, 32, 5}, {0x900, 16, 4}, 16, 4, 3});
  REQUIRE(slices);
  CHECK(slices->bytes_of(slices->to) == (2 * 5 + 3) * 32 + 16);
  CHECK(slices->bytes_of(slices->from) == (2 * 4 + 3) * 16 + 16);
}

TEST_CASE("copies of rows that the driver may refuse or read in its own way are left to it", "[promise-5]") {
  const Rows side{0x100, 32, 4};
  for (const auto& [bytes, rows, slices] : {std::array{0, 4, 1}, std::array{16, 0, 1}, std::array{16, 4, 0}}) {
    CHECK_FALSE(plain_copy({side, side, static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(rows),
                            static_cast<std::uint64_t>(slices)}));
  }
  CHECK(plain_copy({side, side, 32, 4, 2}));
  CHECK_FALSE(plain_copy({side, side, 33, 4, 1}));  // rows that lie in each other
  CHECK_FALSE(plain_copy({side, {0x100, 31, 4}, 32, 4, 1}));
  CHECK_FALSE(plain_copy({side, {0x100, 32, 3}, 32, 4, 2}));  // slices
  CHECK_FALSE(plain_copy({{0x100, 31, 4}, side, 32, 1, 2}));
}

}  // namespace
}  // namespace refrain::layer::streams
