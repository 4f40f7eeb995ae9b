#include "backends/streams/operation.h"

#include <catch2/catch.hpp>

#include "test/backends/record_maker.h"

namespace refrain::backends {

TEST_CASE("a launch of more threads than fit into 32 bits keeps all its blocks") {
  const Grid grid{0x7FFFFFFF, 65535, 65534}, block{1024, 512, 64};
  const auto shape = shape_of(grid, block);
  CHECK(shape.global[0] == std::uint64_t{0x7FFFFFFF} * 1024);
  test::RecordMaker records{capture::QueueInfo{}};
  KernelLaunch launch;
  REQUIRE(launch.read(records.make(capture::OperationKind::kKernel, shape,
                                   [](capture::OperationWriter& writer) { writer.argument_local(48); })));
  CHECK(launch.grid.x == grid.x);
  CHECK(launch.grid.y == grid.y);
  CHECK(launch.grid.z == grid.z);
  CHECK(launch.block.x == block.x);
  CHECK(launch.block.y == block.y);
  CHECK(launch.block.z == block.z);
  CHECK(launch.shared_bytes == 48);
}

}  // namespace refrain::backends
