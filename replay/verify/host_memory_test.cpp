#include "replay/verify/host_memory.h"

#include <array>
#include <catch2/catch.hpp>

#include "test/backends/record_maker.h"

namespace refrain::replay {
namespace {

using capture::ArgumentKind;
using capture::OperationKind;
using capture::OperationWriter;

TEST_CASE("what operations may write of the host's memory: where copies go, and allocations that kernels are given") {
  capture::QueueInfo queue;
  queue.id = queue.handle = 1;
  test::RecordMaker records(queue);
  const auto to = [](std::uint64_t address) {
    return [address](OperationWriter& writer) {
      writer.argument_handle(ArgumentKind::kPointer, 0, address);
      writer.argument_handle(ArgumentKind::kPointer, 0, 0x99);
    };
  };
  const Ranges host = {{0x1000, 0x100}, {0x2000, 0x100}, {0x3000, 0x100}, {0x4000, 0x100}, {0x5000, 0x100}};
  const std::array<std::uint64_t, 3> block = {7, 0x40ff, 9};  // an address within a structure
  const std::vector operations = {
      records.make(OperationKind::kPointerCopy, {16, 0}, to(0x1010)),
      records.make(OperationKind::kPointerCopy, {16, 0}, to(0x7000)),  // of the device
      records.make(OperationKind::kPointerFill, {32}, to(0x1018)),
      records.make(OperationKind::kPointerCopyRect, {8, 2, 1, 64, 2, 8, 1, 0}, to(0x2000)),
      records.make(OperationKind::kCopyBufferRect, {0, 0, 0, 4, 1, 0, 8, 2, 1, 8, 16, 64, 128},
                   [&](OperationWriter& writer) {
                     writer.argument_handle(ArgumentKind::kPointer, 0, 0x5080);  // the source
                     writer.argument_handle(ArgumentKind::kPointer, 0, 0x5000);
                   }),
      records.make(OperationKind::kKernel, {1, 0, 0, 0, 1, 1, 1, 1, 1, 1},
                   [&](OperationWriter& writer) { test::RecordMaker::value(writer, block); }),
  };
  CHECK(written_of_host(operations, host) == Ranges{{0x1010, 40}, {0x2000, 72}, {0x4000, 0x100}, {0x5044, 72}});
  CHECK(written_of_host(operations, {}).empty());
}

TEST_CASE("what one has, and the other has not") {
  const Ranges all = {{10, 10}, {30, 10}, {50, 10}};
  CHECK(without(all, Ranges{{10, 10}, {32, 2}, {55, 5}}) == Ranges{{30, 2}, {34, 6}, {50, 5}});
  CHECK(without(all, Ranges{}) == all);
  CHECK(without(all, all).empty());
}

}  // namespace
}  // namespace refrain::replay
