#include "replay/policy/plan_lengths.h"

#include <catch2/catch.hpp>

using namespace refrain::replay;

namespace {

constexpr ChunkLengths kCuda{.first = 8, .growth = 2, .most = 128, .last = 8};

std::array<ChunkLengths, kChunkPlans> plans(std::uint64_t each_ns, std::uint32_t queues = 1) {
  return chunk_plans({.each_ns = each_ns, .queues = queues, .suits = kCuda, .longest = 128});
}

}  // namespace

TEST_CASE("a chunk is filled before anything has been held for long") {
  for (const std::uint64_t each : {1U, 50U, 300U, 2000U, 7000U, 60'000U, 300'000U}) {
    CAPTURE(each);
    for (const ChunkLengths& plan : plans(each)) {
      CHECK(plan.first >= 1);
      CHECK(plan.first <= plan.most);
      CHECK(plan.most <= 128);
      // A quarter of the limit, or the shortest there is.
      CHECK((plan.most * each <= 1'000'000 || plan.most <= 4));
    }
  }
}

TEST_CASE("chunks grow as settings and backend want, over several queues from a longer one on") {
  CHECK(plans(1000)[0] == ChunkLengths{8, 2, 64, 0});
  CHECK(plans(40, 4)[0] == ChunkLengths{32, 2, 128, 0});
}

TEST_CASE("chunks grow as fast as they are filled while the device is at work with the one before") {
  CHECK(plans(500)[0].growth == 2);
  CHECK(plans(390)[0].growth == 3);
  CHECK(plans(200)[0].growth == 6);
  CHECK(plans(100, 2)[0].growth == 2);
  CHECK(plans(7000)[0].growth == 2);
}

TEST_CASE("a slow program's chunks are long at once, and shrink towards the wait") {
  const auto slow = plans(20'000);
  CHECK(slow[0].first == slow[0].most);
  CHECK(slow[0].last == 1);
  CHECK(plans(1000)[0].last == 0);
  CHECK(plans(1000)[1].last == 6);  // filled in 6 us
}
