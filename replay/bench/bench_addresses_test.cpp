#include "replay/bench/bench_addresses.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "test/backends/record_maker.h"

namespace {

using namespace refrain;
using namespace refrain::test;
using replay::BenchAddresses;

capture::Capture with(std::initializer_list<std::array<std::uint64_t, 3>> buffers) {
  capture::Capture capture;
  for (const auto& [id, address, size] : buffers) {
    capture::BufferInfo info;
    info.id = id;
    info.address = address;
    info.size = size;
    capture.buffers[id] = info;
  }
  return capture;
}

constexpr capture::QueueInfo kQueue{1, 0xDEAD, 7, 8, 0, true, false};

}  // namespace

TEST_CASE("addresses: those of used memory move, others stay") {
  const capture::Capture capture = with({{1, 0x10000, 0x100}, {2, 0x20000, 0x200}, {3, 0x20200, 0x80}, {4, 0, 0x80}});
  BenchAddresses addresses(capture);
  CHECK(addresses.any());
  CHECK(addresses.use(0x10000));
  CHECK(addresses.use(0x2027F));
  CHECK_FALSE(addresses.use(0xFFFF));
  CHECK_FALSE(addresses.use(0x20281));
  auto& regions = addresses.join();
  REQUIRE(regions.size() == 2);
  CHECK(regions[0].buffers == std::vector<capture::ObjectId>{1});
  CHECK(regions[1].buffers == std::vector<capture::ObjectId>{3});
  regions[0].made = 0x500000;
  regions[1].made = 0x600000;
  CHECK(addresses.relocated(0x10010, 0) == 0x500010U);
  CHECK(addresses.relocated(0x10010, 0xF0) == 0x500010U);
  CHECK(addresses.relocated(0x10010, 0xF1) == std::nullopt);
  CHECK(addresses.relocated(0x10100, 0) == 0x500100U);  // the end of memory is where loops stop
  CHECK(addresses.relocated(0x10100, 1) == std::nullopt);
  CHECK(addresses.relocated(0x10101, 0) == std::nullopt);
  CHECK(addresses.relocated(0x20000, 0) == std::nullopt);  // not used
  CHECK(addresses.relocated(0x20200, 0) == 0x600000U);
  CHECK(addresses.relocated(~std::uint64_t{0}, ~std::uint64_t{0}) == std::nullopt);
}

TEST_CASE("addresses: an end that is the beginning of something else is that") {
  const capture::Capture capture = with({{1, 0x10000, 0x100}, {2, 0x10100, 0x100}});
  BenchAddresses addresses(capture);
  CHECK(addresses.use(0x10000));
  CHECK(addresses.use(0x10100));
  auto& regions = addresses.join();
  REQUIRE(regions.size() == 2);
  regions[0].made = 0x500000;
  regions[1].made = 0x400000;
  CHECK(addresses.relocated(0x10100, 0) == 0x400000U);
  CHECK(addresses.relocated(0x100FF, 0) == 0x5000FFU);
}

TEST_CASE("addresses: memory given out again is one region with what was there before") {
  // 1 was freed; 2 and 3 are where it was; 4 is larger than all of them and older than 5.
  const capture::Capture capture = with(
      {{1, 0x10000, 0x1000}, {2, 0x10000, 0x100}, {3, 0x10800, 0x1000}, {5, 0x30000, 0x100}, {4, 0x2FF00, 0x1000}});
  BenchAddresses addresses(capture);
  CHECK(addresses.use(0x10810));  // in 1 and 3
  CHECK(addresses.use(0x10010));  // in 1 and 2
  CHECK(addresses.use(0x30000));  // in 4 and 5
  const auto& regions = addresses.join();
  REQUIRE(regions.size() == 2);
  CHECK(regions[0].address == 0x10000);
  CHECK(regions[0].size == 0x1800);
  CHECK(regions[0].buffers == std::vector<capture::ObjectId>{1, 2, 3});
  CHECK(regions[1].address == 0x2FF00);
  CHECK(regions[1].size == 0x1000);
  CHECK(regions[1].buffers == std::vector<capture::ObjectId>{4, 5});
}

TEST_CASE("addresses: in values of kernels, structures included") {
  const capture::Capture capture = with({{1, 0x7F0000010000, 0x100}});
  BenchAddresses addresses(capture);
  REQUIRE(addresses.use(0x7F0000010000));
  addresses.join()[0].made = 0x7E0000000000;
  RecordMaker maker(kQueue);
  struct Structure {
    std::uint32_t number;
    std::uint32_t other;
    std::uint64_t pointer;
    std::uint64_t end;
    double real;
  };
  const Structure given{1, 2, 0x7F0000010008, 0x7F0000010100, 1.5};
  const OperationView launch =
      maker.make(OperationKind::kKernel, {1, 0, 0, 0, 32, 1, 1, 32, 1, 1}, [&](OperationWriter& w) {
        RecordMaker::value(w, std::uint32_t{0x10000});
        RecordMaker::value(w, given);
        RecordMaker::value(w, std::uint64_t{0x7F0000010010});
      });
  std::vector<std::byte> moved(launch.bytes().begin(), launch.bytes().end());
  std::string why;
  REQUIRE(relocate(addresses, launch, moved.data(), &why));
  const OperationView result(moved.data());
  Structure found;
  std::memcpy(&found, result.value_of(1).data(), sizeof(found));
  CHECK(found.number == 1);
  CHECK(found.other == 2);
  CHECK(found.pointer == 0x7E0000000008);
  CHECK(found.end == 0x7E0000000100);
  CHECK(found.real == 1.5);
  std::uint64_t pointer = 0;
  std::memcpy(&pointer, result.value_of(2).data(), sizeof(pointer));
  CHECK(pointer == 0x7E0000000010);
  CHECK(std::memcmp(result.value_of(0).data(), launch.value_of(0).data(), 4) == 0);
}

TEST_CASE("addresses: copies must lie within known memory") {
  const capture::Capture capture = with({{1, 0x10000, 0x100}});
  BenchAddresses addresses(capture);
  REQUIRE(addresses.use(0x10000));
  addresses.join()[0].made = 0x50000;
  const auto copy = [](RecordMaker& maker, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    return maker.make(OperationKind::kPointerCopy, {bytes, 0}, [&](OperationWriter& w) {
      w.argument_handle(ArgumentKind::kPointer, 1, to);
      w.argument_handle(ArgumentKind::kPointer, 1, from);
    });
  };
  RecordMaker maker(kQueue);
  const auto fits = [&](std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    const OperationView operation = copy(maker, to, from, bytes);
    std::vector<std::byte> moved(operation.bytes().begin(), operation.bytes().end());
    std::string why;
    const bool good = relocate(addresses, operation, moved.data(), &why);
    CHECK(good == why.empty());
    CHECK((!good || OperationView(moved.data()).handle_of(0) == to + 0x40000));
    return good;
  };
  CHECK(fits(0x10000, 0x10080, 0x80));
  CHECK_FALSE(fits(0x10000, 0x10080, 0x81));
  CHECK_FALSE(fits(0x10000, 0x20000, 0x10));
  CHECK_FALSE(fits(0x10000, 0x10000, ~std::uint64_t{0}));
}
