// Memory in stream order: which frees are held, and what becomes of them.
#include "layer/streams/ordered_memory.h"

#include "layer/streams/layer_test_support.h"

namespace refrain::layer::streams {
namespace {

using test::name;
using test::Rig;
using test::State;
using test::Stretch;
using test::TestApi;
using test::TestLayer;

constexpr replay::EntryPoint kAllocate{"allocate"}, kFree{"free"}, kAsk{"ask"}, kChange{"change"};

/// A program that allocates and frees in stream order, and a driver that gives it addresses.
struct Pools {
  explicit Pools(Rig& its_rig) : rig(its_rig) { OrderedStream<TestLayer>::the().begin_anew(); }

  std::uint64_t allocate(State& stream, std::uint64_t bytes = 256, std::uint64_t pool = 0, int* told = nullptr) {
    std::uint64_t address = 0;
    const auto issue = [&] {
      if (full > 0) {
        --full;
        return TestApi::kOutOfMemory;
      }
      address = last += 0x1000;
      return rig.device.submit("allocate in " + name(stream.stream.handle));
    };
    const int status = allocate_in_order<TestLayer>({kAllocate, stream.stream.handle, DefaultStream::kLegacy}, &address,
                                                    bytes, pool == 0 ? nullptr : &pool, issue);
    if (told != nullptr) {
      *told = status;
    } else {
      REQUIRE(status == 0);
    }
    return address;
  }
  void free(State& stream, std::uint64_t address) const {
    REQUIRE(free_in_order<TestLayer>({kFree, stream.stream.handle, DefaultStream::kLegacy}, address,
                                     [&] { return TestLayer::free_in_order(address, stream.stream.handle); }) == 0);
  }
  [[nodiscard]] std::ptrdiff_t allocated(const State& stream) const {
    return rig.device.count("allocate in " + name(stream.stream.handle));
  }
  [[nodiscard]] std::ptrdiff_t freed(std::uint64_t address, const State& stream) const {
    return rig.device.count("free " + std::to_string(address) + " in " + name(stream.stream.handle));
  }

  Rig& rig;
  std::uint64_t last = 0x100000;
  int full = 0;  ///< so many allocations find no memory
};

/// A stretch that is held for the most part, and memory of its stream.
struct Held {
  Rig rig;
  Stretch stretch{rig};
  Pools pools{rig};
  State& stream = stretch.stream;
  std::uint64_t memory = 0;

  Held() {
    rig.loop([this] { stretch.submit(0, stretch.kernels.size()); });
    memory = pools.allocate(stream);
    stretch.submit(0, 3);
    REQUIRE(rig.engine->anything_held());
    rig.device.forget_lines();
  }
};

TEST_CASE("memory that is freed and held is given to the next one like it, and the driver hears of neither call",
          "[promise-4]") {
  Held held;
  held.pools.free(held.stream, held.memory);
  CHECK(held.rig.engine->anything_trails());
  CHECK(held.pools.allocate(held.stream) == held.memory);
  CHECK_FALSE(held.rig.engine->anything_trails());
  held.stretch.submit(3, held.stretch.kernels.size());
  REQUIRE(Rig::wait() == 0);
  CHECK(held.pools.freed(held.memory, held.stream) == 0);
  CHECK(held.pools.allocated(held.stream) == 0);
  // It is the program's again.
  held.stretch.submit(0, 3);
  held.pools.free(held.stream, held.memory);
  CHECK(held.pools.freed(held.memory, held.stream) == 0);
  REQUIRE(Rig::wait() == 0);
  CHECK(held.pools.freed(held.memory, held.stream) == 1);
}

TEST_CASE("memory that is freed and held is freed behind the work that came before", "[promise-1]") {
  Held held;
  held.pools.free(held.stream, held.memory);
  CHECK(held.rig.device.lines().empty());
  SECTION("by a wait") {
    REQUIRE(Rig::wait() == 0);
  }
  SECTION("by another thread's call") {
    std::thread([&] { REQUIRE(Rig::wait() == 0); }).join();
  }
  SECTION("by a question") {
    REQUIRE(ask_of_memory<TestLayer>(kAsk, held.memory + 8, [] { return 0; }) == 0);
  }
  SECTION("at the end") {
    held.rig.engine->shut_down();
  }
  const test::Lines lines = held.rig.device.lines();
  REQUIRE(lines.size() == 4);
  CHECK(lines[3] == "free " + std::to_string(held.memory) + " in " + name(held.stream.stream.handle));
  CHECK_FALSE(held.rig.engine->anything_held());
}

TEST_CASE("a free stays when a graph is launched before it, and does not end what is held") {
  Held held;
  held.pools.free(held.stream, held.memory);
  const int graphs = held.rig.device.graphs;
  held.stretch.submit(3, held.stretch.kernels.size());
  CHECK(held.rig.device.graphs > graphs);
  CHECK(held.rig.engine->anything_trails());
  CHECK(held.pools.allocate(held.stream) == held.memory);
  REQUIRE(Rig::wait() == 0);
}

TEST_CASE("an allocation of another size, or of another pool, is the driver's, before what is held", "[promise-4]") {
  Held held;
  held.pools.free(held.stream, held.memory);
  CHECK(held.pools.allocate(held.stream, 512) != held.memory);
  CHECK(held.pools.allocate(held.stream, 256, 0x77) != held.memory);
  CHECK(held.pools.allocated(held.stream) == 2);
  CHECK(held.rig.device.lines().size() == 2);
  CHECK(held.rig.engine->anything_trails());
}

TEST_CASE("another stream gets none of what one has freed, and from then on all is in order", "[promise-1]") {
  Held held;
  State& other = Rig::stream();
  held.pools.free(held.stream, held.memory);
  CHECK(held.pools.allocate(other) != held.memory);
  CHECK(held.pools.allocated(other) == 1);
  held.stretch.submit(0, 3);
  const std::uint64_t more = held.pools.allocate(held.stream);
  held.rig.device.forget_lines();
  held.pools.free(held.stream, more);
  CHECK(held.pools.freed(more, held.stream) == 1);
}

TEST_CASE("until the first stream is done, others get memory for which nothing waits", "[promise-1]") {
  Held held;
  State& other = Rig::stream();
  held.rig.device.busy.insert(held.stream.stream.handle);
  held.pools.free(held.stream, held.memory);
  for (const bool busy : {true, true, false, false}) {
    CAPTURE(busy);
    if (!busy) {
      held.rig.device.busy.clear();
    }
    held.rig.device.forget_lines();
    held.pools.allocate(other);
    CHECK(held.rig.device.count("no waits") == (busy ? 1 : 0));
    CHECK(held.rig.device.count("waits") == (busy ? 1 : 0));
  }
}

TEST_CASE("a stream that is destroyed leaves the memory to others: at once if it was done", "[promise-1]") {
  const bool busy = GENERATE(false, true);
  Held held;
  if (busy) {
    held.rig.device.busy.insert(held.stream.stream.handle);
  }
  REQUIRE(Rig::wait() == 0);
  REQUIRE(StreamTable<TestLayer>::all().destroy_stream(kChange, held.stream.stream.handle, [] { return 0; }) == 0);
  State& other = Rig::stream();
  held.rig.device.forget_lines();
  held.pools.allocate(other);
  CHECK(held.rig.device.count("no waits") == (busy ? 1 : 0));
}

TEST_CASE("what several streams have stays in its place when the first one is destroyed", "[promise-1]") {
  Held held;
  State& other = Rig::stream();
  held.rig.device.busy.insert(held.stream.stream.handle);
  held.pools.allocate(other);
  held.rig.device.busy.clear();
  REQUIRE(Rig::wait() == 0);
  REQUIRE(StreamTable<TestLayer>::all().destroy_stream(kChange, held.stream.stream.handle, [] { return 0; }) == 0);
  const Stretch third(held.rig);
  held.rig.loop([&] { third.submit(0, third.kernels.size()); });
  const std::uint64_t memory = held.pools.allocate(third.stream);
  third.submit(0, 3);
  held.pools.free(third.stream, memory);
  CHECK(held.pools.freed(memory, third.stream) == 1);
}

TEST_CASE("a stream in which nothing is ever held has such memory all the same", "[promise-1]") {
  Held held;
  held.rig.device.busy.insert(held.stream.stream.handle);
  State& other = Rig::stream();
  other.unholdable = "for a test";
  held.pools.allocate(other);
  held.stretch.submit(0, 3);
  const std::uint64_t memory = held.pools.allocate(held.stream);
  held.rig.device.forget_lines();
  held.pools.free(held.stream, memory);
  CHECK(held.pools.freed(memory, held.stream) == 1);
}

TEST_CASE("another stream may have such memory alone, when the first one is done", "[promise-1]") {
  Held held;
  State& other = Rig::stream();
  bool busy = false;
  SECTION("done") {}
  SECTION("not done") {
    busy = true;
    held.rig.device.busy.insert(held.stream.stream.handle);
  }
  held.stretch.submit(3, held.stretch.kernels.size());
  REQUIRE(Rig::wait() == 0);
  const Stretch second(held.rig, other);
  held.rig.loop([&] { second.submit(0, second.kernels.size()); });
  const std::uint64_t memory = held.pools.allocate(other);
  second.submit(0, 3);
  held.pools.free(other, memory);
  CHECK(held.pools.freed(memory, other) == (busy ? 1 : 0));
}

TEST_CASE("memory is freed at once in another stream than it is of, and where nobody knows it", "[promise-1]") {
  Held held;
  State& other = Rig::stream();
  SECTION("another stream") {
    held.pools.free(other, held.memory);
  }
  SECTION("not known") {
    held.pools.free(held.stream, 0x5000);
  }
  SECTION("told to others") {
    REQUIRE(change_memory<TestLayer>(kChange, held.memory, [] { return 0; }) == 0);
    held.stretch.submit(0, 3);
    held.pools.free(held.stream, held.memory);
  }
  SECTION("of a pool that is not the same any more") {
    REQUIRE(change_memory<TestLayer>(kChange, backends::NamedMemory::kAny, [] { return 0; }) == 0);
    held.stretch.submit(0, 3);
    held.pools.free(held.stream, held.memory);
  }
  CHECK_FALSE(held.rig.engine->anything_trails());
  CHECK(held.rig.device.lines().back().starts_with("free "));
}

TEST_CASE("without memory the driver is asked once more, when it has what was freed", "[promise-5]") {
  Held held;
  held.pools.free(held.stream, held.memory);
  held.pools.full = 1;
  SECTION("another one in stream order") {
    CHECK(held.pools.allocate(held.stream, 4096) != 0);
  }
  SECTION("for good") {
    held.pools.full = 2;
    int status = 0;
    CHECK(held.pools.allocate(held.stream, 4096, 0, &status) == 0);
    CHECK(status == TestApi::kOutOfMemory);
  }
  CHECK(held.pools.freed(held.memory, held.stream) == 1);
  CHECK_FALSE(held.rig.engine->anything_held());
}

TEST_CASE("an event behind a held free, and whatever is issued, come behind it in the driver as well", "[promise-1]") {
  Held held;
  const auto event = Rig::event();
  held.pools.free(held.stream, held.memory);
  REQUIRE(held.rig.record(event, held.stream) == 0);
  const test::Lines lines = held.rig.device.lines();
  REQUIRE(lines.size() == 5);
  CHECK(lines[3].starts_with("free "));
  CHECK(lines[4].starts_with("record "));
}

TEST_CASE("what another thread submits to the stream comes behind a held free", "[promise-1]") {
  Held held;
  held.pools.free(held.stream, held.memory);
  std::thread([&] {
    held.rig.enter();
    REQUIRE(held.rig.launch(held.stream, *held.stretch.kernels[5]) == 0);
  }).join();
  const test::Lines lines = held.rig.device.lines();
  REQUIRE(lines.size() == 5);
  CHECK(lines[3].starts_with("free "));
}

TEST_CASE("what is freed twice is freed by the driver first, which refuses the second time", "[promise-5]") {
  Held held;
  held.pools.free(held.stream, held.memory);
  held.pools.free(held.stream, held.memory);
  CHECK(held.pools.freed(held.memory, held.stream) == 2);
  CHECK_FALSE(held.rig.engine->anything_held());
}

TEST_CASE("more frees than may be held are the driver's, with all before them", "[promise-3]") {
  Held held;
  std::vector<std::uint64_t> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(held.pools.allocate(held.stream, 100 + i));
  }
  for (const std::uint64_t each : all) {
    held.pools.free(held.stream, each);
  }
  CHECK(held.pools.freed(all.front(), held.stream) == 1);
  REQUIRE(Rig::wait() == 0);
  for (const std::uint64_t each : all) {
    CHECK(held.pools.freed(each, held.stream) == 1);
  }
}

TEST_CASE("frees are not held for ever", "[promise-3]") {
  env::Settings settings = Rig::quiet();
  settings.hold_limit_us = 20'000;
  Rig rig(settings);
  Stretch stretch(rig);
  Pools pools(rig);
  rig.loop([&] { stretch.submit(0, stretch.kernels.size()); });
  const std::uint64_t memory = pools.allocate(stretch.stream);
  stretch.submit(0, stretch.kernels.size());
  pools.free(stretch.stream, memory);
  for (int i = 0; i < 2000 && rig.engine->anything_held(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(pools.freed(memory, stretch.stream) == 1);
}

TEST_CASE("the default stream's frees are held as long as no other stream is in order with it", "[promise-1]") {
  Rig rig;
  const auto adopt = [](test::StreamHandle handle, backends::StreamKind kind) {
    return StreamTable<TestLayer>::all().adopt(kind == backends::StreamKind::kLegacy
                                                   ? TestLayer::default_stream_key(handle, DefaultStream::kLegacy)
                                                   : handle_of(handle),
                                               handle, kind);
  };
  State* const legacy = adopt(TestApi::legacy_stream(), backends::StreamKind::kLegacy);
  REQUIRE(legacy != nullptr);
  Stretch stretch{rig, *legacy};
  Pools pools(rig);
  rig.loop([&] { stretch.submit(0, stretch.kernels.size()); });
  std::uint64_t memory = pools.allocate(*legacy);
  stretch.submit(0, 3);
  pools.free(*legacy, memory);
  CHECK(rig.engine->anything_trails());
  REQUIRE(adopt(test::new_handle<test::StreamTag>(), backends::StreamKind::kBlocking) != nullptr);
  CHECK(pools.freed(memory, *legacy) == 1);
  memory = pools.allocate(*legacy);
  stretch.submit(0, 3);
  pools.free(*legacy, memory);
  CHECK(pools.freed(memory, *legacy) == 1);
}

}  // namespace
}  // namespace refrain::layer::streams
