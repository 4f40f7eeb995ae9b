#include "replay/policy/interval_timeline.h"

#include <catch2/catch.hpp>

namespace refrain::replay {
namespace {

TEST_CASE("an interval has what was held since the last one, or since one that was given up") {
  IntervalTimeline timeline(2);
  timeline.add({.submissions = 10}, {.in_graphs = 6, .held_issued = 3, .launches = 2});
  timeline.skip({.in_graphs = 16, .held_issued = 4, .launches = 5});
  timeline.add({.submissions = 10}, {.in_graphs = 26, .held_issued = 4, .launches = 6});
  timeline.add({.submissions = 10}, {.in_graphs = 36, .held_issued = 4, .launches = 7});
  const LaneRuns told = timeline.told(3);
  CHECK(told.lane == 3);
  CHECK(told.left_out == 1);
  REQUIRE(told.runs.size() == 2);
  CHECK(told.runs[0].in_graphs == 6);
  CHECK(told.runs[0].held_issued == 3);
  CHECK(told.runs[0].launches == 2);
  CHECK(told.runs[1].in_graphs == 10);
  CHECK(told.runs[1].held_issued == 0);
  CHECK(told.runs[1].launches == 1);
}

TEST_CASE("lengths of chunks are told when they change, and only the first changes") {
  IntervalTimeline timeline(1);
  const ChunkLengths some{8, 4, 128, 0}, others{8, 4, 64, 0};
  timeline.chunks({1, 0, some, ChunkChange::Why::kStart});
  timeline.chunks({2, 0, some, ChunkChange::Why::kPace});  // the same
  timeline.chunks({3, 0, others, ChunkChange::Why::kPace});
  timeline.chunks({4, 1, others, ChunkChange::Why::kTrial});
  const LaneRuns told = timeline.told(1);
  REQUIRE(told.chunks.size() == 3);
  CHECK(told.chunks[0].at_ns == 1);
  CHECK(told.chunks[1].at_ns == 3);
  CHECK(told.chunks[1].lengths == others);
  CHECK(told.chunks[2].plan == 1);
  CHECK(told.chunks[2].why == ChunkChange::Why::kTrial);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    timeline.chunks({5 + i, static_cast<std::uint32_t>(i % 2), some, ChunkChange::Why::kNew});
  }
  const LaneRuns later = timeline.told(1);
  CHECK(later.chunks.size() < 300);
  CHECK(later.chunks.size() + later.chunks_left_out == 1003);
  CHECK(later.chunks[2].at_ns == 4);
}

}  // namespace
}  // namespace refrain::replay
