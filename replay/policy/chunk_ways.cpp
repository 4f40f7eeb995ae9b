#include "replay/policy/chunk_ways.h"

#include <algorithm>
#include <bit>

namespace refrain::replay {
namespace {

// How stretches are divided into chunks follows from how long the program takes to fill one: while a chunk is held the
// device waits for it, and at the end the program waits for the last one. A launch costs something and a graph
// starts late, so that chunks should take a few times as long as that
// (docs/decisions/0018-costs-of-the-policys-grid.md).
//
// Way 0: growing; the longest takes this time to fill.
constexpr std::uint64_t kLongestFilled = 80'000;
constexpr std::uint32_t kShortestMost = 4;
// What a launch costs should be little beside what it saves: a chunk of so many is worth it however long it takes to
// fill, as long as it may be held.
constexpr std::uint32_t kWorthIt = 16;
// Nothing is chosen that takes more than so many percent of the time that anything may be held to fill: a busy machine
// makes a program twice or three times as slow for a while.
constexpr std::uint64_t kPercentOfLimit = 25;
// A program that takes no longer than this for a submission has filled a chunk so many times as long before the one
// before it is done: even an empty kernel takes the device longer than that, and a graph starts late. Each graph less
// saves time. (Not over several queues, where more of the device's time goes by at once.)
constexpr std::uint64_t kFast = 400;
constexpr std::uint32_t kFastGrowth = 4;
// Way 1: growing, and shrinking again towards the wait, down to one that takes this time: for a program that is slower
// than the device, and would wait for a long one at its end. Until then the device is early anyway, so that the longest
// may take a good part of the time that anything may be held (kPercentOfLimit).
constexpr std::uint64_t kLastFilled = 6'000;
// Way 2: all the same, filled in this time; for a device that is about as fast as the program.
constexpr std::uint64_t kEvenFilled = 8'000;
constexpr std::uint64_t kLongestEven = 64;
// Way 3 over several queues, where each graph costs the device more: the same, filled in twice the time.

// A program that takes so long from one submission to the next (as frameworks do) mostly runs code of its own,
// behind which a launch costs three times as much; and the device is early. Nothing has to start small then, way 0
// shrinks, too, and in way 2 chunks have at least kShortestMost, or twice as many over several queues.
constexpr std::uint64_t kSlow = 6'000;
constexpr std::uint32_t kSlowGrowth = 4;

}  // namespace

std::array<ChunkLengths, kChunkWays> chunk_ways(const ProgramPace& pace) noexcept {
  const std::uint64_t each = pace.each_ns;
  const auto filled = [each](std::uint64_t time, std::uint64_t least, std::uint64_t most) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(time / each, least, std::max(least, most)));
  };
  const std::uint32_t longest = pace.longest;
  const std::uint64_t fits = pace.hold_limit_ns * kPercentOfLimit / 100;
  const bool slow = each >= kSlow;
  const std::uint32_t last = pace.suits.last == 0 ? 0 : filled(kLastFilled, 1, pace.suits.last);
  std::array<ChunkLengths, kChunkWays> ways;
  ChunkLengths lengths = pace.suits;
  lengths.first *= pace.queues;
  const std::uint32_t worth_it = filled(fits, kShortestMost, std::min(kWorthIt, longest));
  lengths.most = filled(kLongestFilled, worth_it, longest);
  // Of much that repeats within a stretch, bodies of loops and their arguments, round lengths are whole multiples.
  const auto round = [slow](std::uint32_t most) { return slow ? most & ~(kShortestMost - 1) : most; };
  lengths.most = slow ? round(lengths.most) : std::bit_floor(lengths.most);
  lengths.last = 0;
  if (each <= kFast && pace.queues == 1) {
    lengths.growth = std::max(lengths.growth, kFastGrowth);
  }
  if (slow) {  // first, growth, most, last
    lengths = {lengths.most, std::max(lengths.growth, kSlowGrowth), lengths.most, last};
  }
  ways[0] = lengths;
  lengths.most = round(filled(std::max(kLongestFilled, fits), kShortestMost, longest));
  lengths.last = last;
  ways[1] = lengths;
  const std::uint32_t least_even = !slow ? 2 : pace.queues > 1 ? 2 * kShortestMost : kShortestMost;
  const auto even = [&](std::uint64_t time) {
    const std::uint32_t each_piece = filled(time, least_even, std::min<std::uint64_t>(kLongestEven, longest));
    return ChunkLengths{each_piece, 1, each_piece, 0};
  };
  ways[2] = even(kEvenFilled);
  ways[3] = even(2 * kEvenFilled);
  return ways;
}

}  // namespace refrain::replay
