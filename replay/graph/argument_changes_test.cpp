#include "replay/graph/argument_changes.h"

#include <catch2/catch.hpp>

#include "replay/graph/test_occurrence.h"

namespace refrain::replay {
namespace {

using test::kernels;
using test::views;

TEST_CASE("of several arguments, the one is named that changes most often") {
  ArgumentChanges changes;
  for (std::uint64_t i = 0; i < 20; ++i) {
    changes.add(views(kernels({i < 5 ? 1U : 2U, i, i < 9 ? 1U : 2U})));
  }
  CHECK(changes.text() == "argument 1 of operation 1 (kernel) changes each time, and 2 more");
}

TEST_CASE("a buffer that changes is an argument, and a size is none") {
  ArgumentChanges buffers, same_address, sizes;
  for (std::uint64_t i = 0; i < 3; ++i) {
    buffers.add(views(kernels({1}, 7 + i)));
    same_address.add(views(kernels({1}, 7 + i, 64, 0x1000)));
    sizes.add(views(kernels({1}, 7, 64 + i)));
  }
  CHECK(buffers.text() == "argument 0 of operation 0 (kernel) changes each time");
  CHECK(same_address.text() == buffers.text());
  CHECK(sizes.text() == "offsets or sizes of operation 0 change each time");
}

TEST_CASE("nothing is named if nothing changed from one occurrence to the next") {
  ArgumentChanges changes;
  changes.add(views(kernels({1, 2})));
  changes.add(views(kernels({1, 2})));
  changes.add(views(kernels({3})));  // another length: nothing to compare
  CHECK(changes.text() == "its arguments did not come back");
}

TEST_CASE("what changed stays known when the memory is given back") {
  ArgumentChanges changes;
  changes.add(views(kernels({1})));
  changes.add(views(kernels({2})));
  const std::size_t bytes = changes.memory();
  CHECK(bytes > 0);
  CHECK(changes.release() == bytes);
  CHECK(changes.memory() == 0);
  changes.add(views(kernels({3})));  // nothing to compare with
  CHECK(changes.text() == "argument 1 of operation 0 (kernel) changes each time");
}

TEST_CASE("of a stretch whose every operation changes, only so many are counted") {
  ArgumentChanges changes;
  for (std::uint64_t i = 0; i < 3; ++i) {
    changes.add(views(kernels(std::vector<std::uint64_t>(1000, i))));
  }
  CHECK(changes.text() == "argument 1 of operation 0 (kernel) changes each time, and 63 more");
}

}  // namespace
}  // namespace refrain::replay
