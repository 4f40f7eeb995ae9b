// How long the chunks of a lane are: what settings and backend want, and what suits the time that the program takes
// from one submission to the next.
#include <algorithm>
#include <bit>
#include <utility>

#include "replay/clock.h"
#include "replay/lane.h"
#include "replay/lane_state.h"

namespace refrain::replay {
namespace {

// How stretches are divided into chunks follows from how long the program takes to fill one: while a chunk is held the
// device waits for it, and at the end the program waits for the last one. A launch costs about 2 us and a graph starts
// 6 us late, so that chunks are worth a few times that (docs/policy.md).
//
// Way 0: growing, and shrinking again towards the wait. The longest takes the first time to fill, the last the second.
constexpr std::uint64_t kLongestFilled = 80'000;
constexpr std::uint64_t kLastFilled = 6'000;
constexpr std::uint32_t kShortestMost = 4;
// Way 1: all the same, filled in this time; for a device that is about as fast as the program.
constexpr std::uint64_t kEvenFilled = 8'000;
constexpr std::uint64_t kLongestEven = 64;
constexpr std::uint64_t kNoProgramTime = 1'000'000;  ///< longer than this it did something else

}  // namespace

bool lengths_are_free(const env::Settings& settings) noexcept {
  return settings.chunk_first == 0 && settings.chunk_growth == 0;
}

MatcherOptions matcher_options(const env::Settings& settings, const backends::ChunkSizes& suits) {
  const auto choose = [](auto setting, std::uint32_t otherwise) {
    return setting == 0 ? otherwise : static_cast<std::uint32_t>(setting);
  };
  MatcherOptions options;
  options.chunk_cap = choose(settings.chunk_max, suits.most);
  options.chunk_first = std::min(choose(settings.chunk_first, suits.first), options.chunk_cap);
  options.chunk_growth = choose(settings.chunk_growth, suits.growth);
  options.history = static_cast<std::uint32_t>(settings.history);
  options.min_chunk = static_cast<std::uint32_t>(settings.min_graph);
  // Who says how long chunks are to be gets exactly that: no shorter ones before a wait.
  options.chunk_last = lengths_are_free(settings) ? std::min(suits.last, options.chunk_cap) : 0;
  return options;
}

/// At the submission after one that was timed, or after work was held until the limit.
void Lane::note_program_time() noexcept {
  State& state = *state_;
  const std::uint32_t held = state.expired_held.exchange(0, std::memory_order_relaxed);
  // Lengths that the user gave are left alone, unless nothing that long is ever filled.
  if (held == 0 && !state.lengths_free) {
    state.left_ns = 0;
    return;
  }
  if (held != 0) {
    const auto limit = static_cast<std::uint64_t>(engine_.settings().hold_limit_us) * 1000;
    state.program_ns = std::max(state.program_ns, std::min(limit / held, kNoProgramTime));
    state.left_ns = 0;
  } else {
    const std::uint64_t spent = now_ns() - std::exchange(state.left_ns, 0);
    if (spent > kNoProgramTime) {
      return;
    }
    state.program_ns = ++state.program_samples < 32
                           ? (state.program_ns * (state.program_samples - 1) + spent) / state.program_samples
                           : (state.program_ns * 31 + spent) / 32;
  }
  // Only when it matters: different lengths are different graphs.
  const std::uint64_t each = state.program_ns + state.hold_cost_ns + 1;
  if (state.chunks_for_ns == 0 || each > state.chunks_for_ns * 2 || each * 2 < state.chunks_for_ns) {
    state.chunks_for_ns = each;
    choose_lengths(each);
  }
}

void Lane::choose_lengths(std::uint64_t each) noexcept {
  State& state = *state_;
  const auto filled = [each](std::uint64_t time, std::uint64_t least, std::uint64_t most) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(time / each, least, std::max(least, most)));
  };
  ChunkLengths waves = state.lengths;
  waves.most = std::bit_floor(filled(kLongestFilled, kShortestMost, state.lengths.most));
  waves.last = state.lengths.last == 0 ? 0 : filled(kLastFilled, 1, state.lengths.last);
  state.matcher.set_lengths(0, waves);
  const std::uint32_t even = filled(kEvenFilled, 2, std::min<std::uint64_t>(kLongestEven, state.lengths.most));
  state.matcher.set_lengths(1, {even, 1, even, 0});
  state.spans.ways_changed();
}

}  // namespace refrain::replay
