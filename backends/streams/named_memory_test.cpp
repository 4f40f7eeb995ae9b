#include "backends/streams/named_memory.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

namespace refrain::backends {
namespace {

Allocation at(std::uint64_t start) {
  Allocation made;
  made.start = start;
  made.id = 1;
  return made;
}

NamedMemory::Recording record(NamedMemory& memory, const std::vector<std::uint64_t>& named) {
  return memory.record([&](std::vector<Allocation>* all) {
    for (const std::uint64_t start : named) {
      all->push_back(at(start));
    }
    return true;
  });
}

}  // namespace

TEST_CASE("named memory: a graph is recorded with what is there, and not with what is going") {
  env::StuckCheck maker{"a test"};
  NamedMemory memory{maker};
  CHECK(record(memory, {1, 2}).good());
  CHECK_FALSE(memory.record([](std::vector<Allocation>*) { return false; }).good());
  {
    const auto going = memory.goes(2);
    CHECK_FALSE(record(memory, {1, 2}).good());
    CHECK(record(memory, {1}).good());
  }
  CHECK(record(memory, {1, 2}).good());
  {
    const auto going = memory.goes(NamedMemory::kAny);
    CHECK_FALSE(record(memory, {1}).good());
    CHECK(record(memory, {}).good());  // kernels only
  }
  CHECK(record(memory, {1}).good());
}

TEST_CASE("named memory: what was freed in stream order is gone until it is allocated again") {
  env::StuckCheck maker{"a test"};
  NamedMemory memory{maker};
  memory.freed_in_order(7, 2);
  CHECK(record(memory, {7}).good());  // another one, at the same address
  memory.freed_in_order(7);
  CHECK_FALSE(record(memory, {7}).good());
  memory.allocated(7);
  CHECK(record(memory, {7}).good());
  for (std::uint64_t start = 1; start < 20'000; ++start) {
    memory.freed_in_order(start);
  }
  CHECK_FALSE(record(memory, {19'999}).good());
}

TEST_CASE("named memory: a recording waits for what is allocated again, and that goes when it was looked at") {
  env::StuckCheck maker{"a test"};
  NamedMemory memory{maker};
  memory.freed_in_order(7);
  std::atomic<bool> there{false};
  std::atomic<bool> recorded{false};
  std::thread builder([&] {
    auto recording = memory.record(
        [&](std::vector<Allocation>* all) {
          all->push_back(at(7));
          return there.load();
        },
        std::chrono::seconds(20));
    CHECK(recording.good());
    recorded = true;
    recording.end();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  memory.allocated(6);  // something else
  there = true;
  while (!recorded) {
    memory.allocated(7);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  builder.join();
  const auto going = memory.goes(7);
  CHECK_FALSE(memory
                  .record([&](std::vector<Allocation>* all) { return all->push_back(at(7)), true; },
                          std::chrono::milliseconds(30))
                  .good());
}

TEST_CASE("named memory: of what was freed in stream order the newest 4096 at least are remembered") {
  for (const std::uint64_t count : {4096U, 4097U, 6000U, 8192U, 8193U}) {
    CAPTURE(count);
    env::StuckCheck maker{"a test"};
    NamedMemory memory{maker};
    for (std::uint64_t start = 1; start <= count; ++start) {
      memory.freed_in_order(start);
    }
    CHECK_FALSE(record(memory, {count}).good());
    const std::uint64_t oldest = count - 4095;
    CHECK_FALSE(record(memory, {oldest}).good());
    memory.allocated(oldest);
    CHECK(record(memory, {oldest}).good());
  }
}

TEST_CASE("named memory: a free waits for the recording that names it, and for no other") {
  env::StuckCheck maker{"a test"};
  NamedMemory memory{maker};
  auto recording = record(memory, {1, 2});
  REQUIRE(recording.good());
  static_cast<void>(memory.goes(3));  // would hang otherwise, or take as long as the patience
  std::atomic<bool> gone{false};
  std::thread other([&] {
    const auto going = memory.goes(2);
    gone = true;
  });
  while (!memory.awaited() && !gone) {
    std::this_thread::yield();
  }
  const bool before = gone;
  recording.end();
  other.join();
  CHECK_FALSE(before);
  CHECK(gone);
  CHECK_FALSE(memory.awaited());
}

TEST_CASE("named memory: a free does not wait for ever, and no graph is made of the memory then") {
  env::StuckCheck maker{"a test"};
  NamedMemory memory{maker};
  auto recording = record(memory, {1});
  static_cast<void>(memory.goes(2));
  CHECK_FALSE(memory.gone_meanwhile());
  static_cast<void>(memory.goes(1));
  CHECK(memory.gone_meanwhile());
  recording.end();
  recording = record(memory, {1});
  CHECK_FALSE(memory.gone_meanwhile());
  static_cast<void>(memory.goes(NamedMemory::kAny));
  CHECK(memory.gone_meanwhile());
}

TEST_CASE("named memory: whatever frees counts") {
  env::StuckCheck maker{"a test"};
  NamedMemory memory{maker};
  const std::uint64_t before = memory.changes();
  static_cast<void>(memory.goes(1));
  CHECK(memory.changes() != before);
}

}  // namespace refrain::backends
