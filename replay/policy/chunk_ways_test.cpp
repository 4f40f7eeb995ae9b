#include "replay/policy/chunk_ways.h"

#include <catch2/catch.hpp>

using namespace refrain::replay;

namespace {

constexpr ChunkLengths kCuda{.first = 8, .growth = 2, .most = 128, .last = 8};

std::array<ChunkLengths, kChunkWays> ways(std::uint64_t each_ns, std::uint32_t queues = 1) {
  return chunk_ways({.each_ns = each_ns, .queues = queues, .suits = kCuda, .longest = 128});
}

}  // namespace

TEST_CASE("a chunk is filled before anything has been held for long") {
  for (const std::uint64_t each : {1U, 50U, 300U, 2000U, 7000U, 60'000U, 300'000U}) {
    CAPTURE(each);
    for (const ChunkLengths& way : ways(each)) {
      CHECK(way.first >= 1);
      CHECK(way.first <= way.most);
      CHECK(way.most <= 128);
      // A quarter of the limit, or the shortest there is.
      CHECK((way.most * each <= 1'000'000 || way.most <= 4));
    }
  }
}

TEST_CASE("chunks of fast programs are as settings and backend want, over several queues from a longer one on") {
  CHECK(ways(1000)[0].growth == kCuda.growth);
  CHECK(ways(40)[0] == ChunkLengths{8, 2, 128, 0});
  CHECK(ways(40, 4)[0] == ChunkLengths{32, 2, 128, 0});
}

TEST_CASE("a slow program's chunks are long at once, and shrink towards the wait") {
  const auto slow = ways(20'000);
  CHECK(slow[0].first == slow[0].most);
  CHECK(slow[0].last == 1);
  CHECK(ways(1000)[0].last == 0);
  CHECK(ways(1000)[1].last == 6);  // filled in 6 us
}
