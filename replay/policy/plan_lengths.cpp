#include "replay/policy/plan_lengths.h"

#include <algorithm>
#include <bit>

#include "replay/tuning.h"

namespace refrain::replay {
// How stretches are divided into chunks follows from how long the program takes to fill one: while a chunk is held the
// device waits for it, and at the end the program waits for the last one. A launch costs something and a graph
// starts late, so that chunks should take a few times as long as that
// (docs/decisions/0020-costs-of-the-policys-grid.md).
//
// Plan 0: growing.
// Plan 1: growing, and shrinking again towards the wait: for a program that is slower than the device, and would wait
// for a long one at its end. Until then the device is early anyway, so that the longest may take a good part of the
// time that anything may be held. Plan 2: all the same, for a device that is about as fast as the program. Plan 3, over
// several queues, where each graph costs the device more: the same, filled in twice the time.
//
// A program that takes as long from one submission to the next as a graph needs to start (as frameworks do)
// mostly runs code of its own, behind which a launch costs three times as much; and the device is early. Nothing has to
// start small then, plan 0 shrinks, too, and in plan 2 chunks have at least kShortestMost, or twice as many over
// several queues.
std::array<ChunkLengths, kChunkPlans> chunk_plans(const ProgramPace& pace) noexcept {
  const std::uint64_t each = pace.each_ns;
  const auto filled = [each](std::uint64_t time, std::uint64_t least, std::uint64_t most) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(time / each, least, std::max(least, most)));
  };
  const std::uint32_t longest = pace.longest;
  const std::uint64_t fits = pace.hold_limit_ns * tuning::kPercentOfLimit / 100;
  const bool slow = each >= tuning::kGraphStartNs;
  const std::uint32_t last = pace.suits.last == 0 ? 0 : filled(tuning::kGraphStartNs, 1, pace.suits.last);
  std::array<ChunkLengths, kChunkPlans> plans;
  ChunkLengths lengths = pace.suits;
  lengths.first *= pace.queues;
  if (pace.queues == 1) {  // over several more of the device's time goes by at once
    // So many times as long a chunk is filled while the device is at work with the one in front of it.
    lengths.growth = std::max(lengths.growth, static_cast<std::uint32_t>(tuning::kGrowthNs / each));
  }
  const std::uint32_t worth_it = filled(fits, tuning::kShortestMost, std::min(tuning::kWorthIt, longest));
  lengths.most = filled(tuning::kLongestFilledNs, worth_it, longest);
  // Of much that repeats within a stretch, bodies of loops and their arguments, round lengths are whole multiples.
  const auto round = [slow](std::uint32_t most) { return slow ? most & ~(tuning::kShortestMost - 1) : most; };
  lengths.most = slow ? round(lengths.most) : std::bit_floor(lengths.most);
  lengths.last = 0;
  if (slow) {  // first, growth, most, last
    lengths = {lengths.most, lengths.growth, lengths.most, last};
  }
  plans[0] = lengths;
  lengths.most = round(filled(std::max(tuning::kLongestFilledNs, fits), tuning::kShortestMost, longest));
  lengths.last = last;
  plans[1] = lengths;
  const std::uint32_t least_even = !slow ? 2 : pace.queues > 1 ? 2 * tuning::kShortestMost : tuning::kShortestMost;
  const auto even = [&](std::uint64_t time) {
    const std::uint32_t each_piece = filled(time, least_even, longest);
    return ChunkLengths{each_piece, 1, each_piece, 0};
  };
  plans[2] = even(tuning::kEvenFilledNs);
  plans[3] = even(2 * tuning::kEvenFilledNs);
  return plans;
}

}  // namespace refrain::replay
