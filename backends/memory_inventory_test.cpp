#include "backends/memory_inventory.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <thread>

namespace refrain::backends {
namespace {

std::vector<std::uint64_t> starts(const MemoryInventory& inventory) {
  std::vector<std::uint64_t> result;
  for (const LiveMemory& memory : inventory.all()) {
    result.push_back(memory.start);
  }
  return result;
}

}  // namespace

TEST_CASE("inventory: an address lies in what was allocated around it, and in nothing once that is freed") {
  MemoryInventory inventory;
  inventory.add({100, 50, 1});
  inventory.add({200, 1, 2});
  CHECK_FALSE(inventory.find(99));
  REQUIRE(inventory.find(149));
  CHECK(inventory.find(149)->id == 1);
  CHECK_FALSE(inventory.find(150));
  CHECK(inventory.find(200)->id == 2);
  inventory.remove(149);  // nothing starts there
  CHECK(starts(inventory) == std::vector<std::uint64_t>{100, 200});
  inventory.remove(100);
  CHECK_FALSE(inventory.find(120));
  inventory.add({300, 0, 3});
  CHECK(starts(inventory) == std::vector<std::uint64_t>{200});
  CHECK(inventory.complete());
}

TEST_CASE("inventory: changes are counted, and what is told again is none") {
  MemoryInventory inventory;
  inventory.add({100, 50, 1});
  const std::uint64_t before = inventory.changes();
  inventory.add({100, 50, 1});
  inventory.remove(7);
  CHECK(inventory.changes() == before);
  inventory.add({100, 50, 2});  // freed in a way that nobody saw
  CHECK(inventory.changes() != before);
  CHECK(inventory.find(100)->id == 2);
}

TEST_CASE("inventory: what still is there is kept where nobody knows what was freed") {
  MemoryInventory inventory;
  inventory.add({100, 10, 1});
  inventory.add({200, 10, 2});
  inventory.keep_if([](const LiveMemory& memory) { return memory.id == 2; });
  CHECK(starts(inventory) == std::vector<std::uint64_t>{200});
}

TEST_CASE("inventory: nobody frees memory while it is held, and nobody holds it while memory is freed") {
  MemoryInventory inventory;
  inventory.add({100, 10, 1});
  REQUIRE(inventory.hold());
  std::atomic<bool> began = false;
  std::thread freeing([&] {
    inventory.begin_freeing();
    began = true;
  });
  std::thread removing([&] { inventory.remove(100); });
  std::atomic<bool> waited = false;
  std::thread waiting([&] {
    inventory.wait_while_held();
    waited = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(began);
  CHECK_FALSE(waited);
  CHECK(inventory.find(100));
  inventory.let_go();
  waiting.join();
  inventory.wait_while_held();
  freeing.join();
  removing.join();
  CHECK_FALSE(inventory.find(100));
  CHECK_FALSE(inventory.hold());
  inventory.begin_freeing();
  inventory.end_freeing();
  CHECK_FALSE(inventory.hold());
  inventory.end_freeing();
  CHECK(inventory.hold());
  inventory.let_go();
}

TEST_CASE("inventory: ranges never overlap, whatever is added and removed") {
  std::minstd_rand random(7);
  MemoryInventory inventory;
  std::vector<std::uint64_t> owner(256, 0);  // of each byte
  const auto clear = [&](std::uint64_t start, std::uint64_t bytes) {
    std::vector<std::uint64_t> gone(owner.begin() + static_cast<long>(start),
                                    owner.begin() + static_cast<long>(start + bytes));
    for (std::uint64_t& each : owner) {
      each = each != 0 && std::find(gone.begin(), gone.end(), each) != gone.end() ? 0 : each;
    }
  };
  for (std::uint64_t id = 1; id < 2000; ++id) {
    const std::uint64_t start = random() % 240;
    const std::uint64_t bytes = 1 + random() % 16;
    if (random() % 3 == 0 && owner[start] != 0) {
      const std::uint64_t first = inventory.find(start)->start;
      clear(first, 1);
      inventory.remove(first);
    } else {
      clear(start, bytes);
      inventory.add({start, bytes, id});
      std::fill_n(owner.begin() + static_cast<long>(start), bytes, id);
    }
    for (std::uint64_t address = 0; address < owner.size(); ++address) {
      const auto found = inventory.find(address);
      REQUIRE((found ? found->id : 0) == owner[address]);
    }
  }
}

}  // namespace refrain::backends
