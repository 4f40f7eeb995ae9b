#include "layer/registry.h"

#include <catch2/catch.hpp>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

struct Thing {
  std::atomic<std::uint64_t> handle{0};
  Thing* next_free = nullptr;
  std::atomic<std::uint64_t> value{0};
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    value.store(0, std::memory_order_relaxed);
  }
};

using Things = refrain::layer::Registry<Thing>;

void add(Things& things, std::uint64_t handle, std::uint64_t value) {
  Thing* thing = things.make();
  REQUIRE(thing != nullptr);
  thing->value = value;
  REQUIRE(things.insert(thing, handle));
}

}  // namespace

TEST_CASE("an empty registry knows nothing") {
  Things things;
  CHECK(things.find(0) == nullptr);
  CHECK(things.find(1) == nullptr);
  CHECK(things.find(0x7F0000001000) == nullptr);
  CHECK(things.size() == 0);
}

TEST_CASE("null and the marker of erased places are no handles") {
  Things things;
  Thing* thing = things.make();
  CHECK_FALSE(things.insert(thing, 0));
  CHECK_FALSE(things.insert(thing, 1));
  CHECK(things.size() == 0);
}

TEST_CASE("a handle that comes back names the new object") {
  Things things;
  add(things, 0x1000, 1);
  Thing* first = things.find(0x1000);
  things.erase(first);
  CHECK(things.find(0x1000) == nullptr);
  things.recycle(first);
  add(things, 0x1000, 2);
  CHECK(things.find(0x1000)->value == 2);
  // Even if the release was never seen.
  add(things, 0x1000, 3);
  CHECK(things.find(0x1000)->value == 3);
  CHECK(things.size() == 1);
}

TEST_CASE("an older record of a handle goes with an object that is not kept") {
  Things things;
  add(things, 0x1000, 1);
  things.erase_stale(0x2000);
  CHECK(things.size() == 1);
  things.erase_stale(0x1000);
  CHECK(things.find(0x1000) == nullptr);
  CHECK(things.size() == 0);
}

TEST_CASE("what came and went makes no search longer") {
  Things things;
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> alive;
  for (int i = 0; i < 20000; ++i) {
    alive.push_back((random() >> 16) & ~0xFULL);
    add(things, alive.back(), 1);
    if (alive.size() > 100) {
      std::swap(alive[random() % alive.size()], alive.back());
      Thing* gone = things.find(alive.back());
      things.erase(gone);
      things.recycle(gone);
      alive.pop_back();
    }
  }
  CHECK(things.taken_places() < 160);  // of 256, with 100 of objects
  for (const std::uint64_t handle : alive) {
    things.erase(things.find(handle));
  }
  CHECK(things.taken_places() == 0);
}

TEST_CASE("values near handles may be handles, the lowest and the highest among them") {
  Things things;
  CHECK_FALSE(things.may_contain(0x2000));
  add(things, 0x2000, 1);
  CHECK(things.may_contain(0x2000));
  add(things, 0x1000, 2);
  add(things, 0x3000, 3);
  CHECK(things.may_contain(0x1000));
  CHECK(things.may_contain(0x2FFF));
  CHECK(things.may_contain(0x3000));
  CHECK_FALSE(things.may_contain(0xFFF));
  CHECK_FALSE(things.may_contain(0x3001));
  CHECK_FALSE(things.may_contain(3));
}

TEST_CASE("random inserts and erases agree with a map, through growth") {
  Things things;
  std::unordered_map<std::uint64_t, std::uint64_t> model;
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t handle = 0x5555'0000'0000 + (random() % 3000) * 64;
    if (random() % 2 == 0) {
      add(things, handle, static_cast<std::uint64_t>(i));
      model[handle] = static_cast<std::uint64_t>(i);
    } else if (Thing* thing = things.find(handle); thing != nullptr) {
      things.erase(thing);
      things.recycle(thing);
      model.erase(handle);
    }
    const std::uint64_t asked = 0x5555'0000'0000 + (random() % 3000) * 64;
    const Thing* found = things.find(asked);
    const auto known = model.find(asked);
    REQUIRE((found != nullptr) == (known != model.end()));
    if (found != nullptr) {
      REQUIRE(found->value == known->second);
    }
  }
  CHECK(things.size() == model.size());
}

TEST_CASE("endless turnover does not make the table grow or slow") {
  Things things;
  // As with events: one lives at a time, at ever new addresses.
  for (std::uint64_t i = 2; i < 500'000; ++i) {
    add(things, i * 48, i);
    Thing* thing = things.find(i * 48);
    REQUIRE(thing != nullptr);
    things.erase(thing);
    things.recycle(thing);
  }
  CHECK(things.size() == 0);
  CHECK(things.find(12345678 * 48ULL) == nullptr);
}

TEST_CASE("readers see every object that stays, while others come and go") {
  Things things;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    add(things, i << 32U, i);
  }
  std::atomic<bool> stop{false};
  std::atomic<int> missing{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!stop) {
        for (std::uint64_t i = 1; i <= 100; ++i) {
          const Thing* thing = things.find(i << 32U);
          if (thing == nullptr || thing->value != i) {
            ++missing;
          }
        }
      }
    });
  }
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    add(things, 0x7000'0000 + i * 16, i);
    if (i >= 3000) {
      Thing* old = things.find(0x7000'0000 + (i - 3000) * 16);
      REQUIRE(old != nullptr);
      things.erase(old);
      things.recycle(old);
    }
  }
  stop = true;
  for (auto& reader : readers) {
    reader.join();
  }
  CHECK(missing == 0);
}
