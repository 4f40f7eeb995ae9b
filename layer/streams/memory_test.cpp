// What addresses belong to.
#include "layer/streams/memory.h"

#include "layer/streams/layer_test_support.h"

namespace refrain::layer::streams {
namespace {

using test::Rig;
using test::TestLayer;

bool is_found(std::uint64_t address, std::size_t bytes) {
  const Place place = place_of<TestLayer>(address, bytes);
  CHECK((place.id != 0) == (place.kind == capture::ArgumentKind::kPointer));
  return place.id != 0;
}

TEST_CASE("memory is the driver's if all of it lies in one allocation") {
  Rig rig;
  rig.device.allocation = {0x10000, 0x1000, 9, backends::MemoryType::kDevice, 0};
  CHECK(is_found(0x10000, 0x1000));
  CHECK(is_found(0x10800, 0x800));
  CHECK(is_found(0x10FFF, 1));
  CHECK_FALSE(is_found(0x10000, 0x1001));
  CHECK_FALSE(is_found(0x10800, 0x801));
  CHECK_FALSE(is_found(0x10FFF, 2));
  CHECK_FALSE(is_found(0x10800, ~std::size_t{0}));
  CHECK_FALSE(is_found(0x11000, 1));
  CHECK_FALSE(is_found(0xFFFF, 2));
}

TEST_CASE("an address is another allocation's once memory was freed and comes again", "[promise-4]") {
  Rig rig;
  constexpr std::uint64_t kStart = 0x20000;
  rig.device.allocation = {kStart, 0x1000, 9, backends::MemoryType::kDevice, 0};
  CHECK(filled_place<TestLayer>(kStart, 16).id == 9);
  CHECK(filled_place<TestLayer>(kStart, 16).id == 9);
  REQUIRE(free_memory<TestLayer>(test::kHostCall, kStart, [] { return 0; }) == 0);
  rig.device.allocation.id = 10;
  CHECK(filled_place<TestLayer>(kStart, 16).id == 10);
  CHECK(filled_place<TestLayer>(kStart, 0x2000).id == 0);
}

TEST_CASE("a place is known by its address and size, until anything changes", "[promise-4]") {
  KnownPlaces places;
  places.keep(0x3000, 16, 1, 7);
  CHECK(places.find(0x3000, 16, 1) == 7);
  CHECK(places.find(0x3000, 32, 1) == 0);
  CHECK(places.find(0x3010, 16, 1) == 0);
  CHECK(places.find(0x3000, 16, 2) == 0);
}

}  // namespace
}  // namespace refrain::layer::streams
