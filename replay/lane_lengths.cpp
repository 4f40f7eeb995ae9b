// How long the chunks of a lane are: what settings and backend want, and what suits the time that the program takes
// from one submission to the next.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <numeric>
#include <string>
#include <utility>

#include "env/log.h"
#include "replay/clock.h"
#include "replay/lane.h"
#include "replay/lane_state.h"

namespace refrain::replay {
namespace {

// How stretches are divided into chunks follows from how long the program takes to fill one: while a chunk is held the
// device waits for it, and at the end the program waits for the last one. A launch costs about 2 us and a graph starts
// 6 us late, so that chunks are worth a few times that (docs/policy.md).
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
// before it is done: no kernel takes the device less than about 0.7 us, and a graph starts late. Each graph less saves
// 1 us. (Not over several queues, where more of the device's time goes by at once.)
constexpr std::uint64_t kFast = 400;
constexpr std::uint32_t kFastGrowth = 4;
// The first is so many times as long where it is divided among several queues: a graph over several is several short
// ones, and the next one begins when the last of them is done.
constexpr std::size_t kMostQueues = 4;
// Way 1: growing, and shrinking again towards the wait, down to one that takes this time: for a program that is slower
// than the device, and would wait for a long one at its end. Until then the device is early anyway, so that the longest
// may take a good part of the time that anything may be held (kPercentOfLimit).
constexpr std::uint64_t kLastFilled = 6'000;
// Way 2: all the same, filled in this time; for a device that is about as fast as the program.
constexpr std::uint64_t kEvenFilled = 8'000;
constexpr std::uint64_t kLongestEven = 64;
// Way 3, only over several queues, where each graph costs the device more: the same, filled in twice the time.

// A program that takes so long from one submission to the next (PyTorch takes 7 to 60 us) mostly runs code of its own,
// behind which a launch costs three times as much; and the device is early. Nothing has to start small then, way 0
// shrinks, too, and in way 2 chunks have at least kShortestMost, or twice as many over several queues.
constexpr std::uint64_t kSlow = 6'000;
constexpr std::uint32_t kSlowGrowth = 4;
constexpr std::uint64_t kOther = 3;     ///< times as long or short is a time that other lengths may suit better
constexpr std::uint64_t kRarely = 128;  ///< submissions between two times that the limit for holding came
/// A busy machine takes the processor away several times in a row, and what is issued one by one now and then costs
/// less than shorter graphs would: only so often in a row it is the program's own doing.
constexpr std::uint32_t kTooOften = 24;
/// Submissions after which chunks that were made shorter may be longer again, the first time; then four times as many,
/// and so on (shifts): lengths that change are new graphs.
constexpr std::uint64_t kForgiven = 32768;
constexpr std::uint32_t kForgivenLater = 2, kForgivenLast = 20;
/// Fewer than so many were held when the limit came: a pause, if it does not come at nearly every submission.
constexpr std::uint32_t kHardlyAny = 4;
constexpr std::uint64_t kNearlyEvery = 8;
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
  options.chunk_cap = choose(settings.chunk_max, std::max(suits.most, suits.most_of_several));
  options.chunk_first = std::min(choose(settings.chunk_first, suits.first), options.chunk_cap);
  options.chunk_growth = choose(settings.chunk_growth, suits.growth);
  options.history = static_cast<std::uint32_t>(settings.history);
  options.min_chunk = static_cast<std::uint32_t>(settings.min_graph);
  options.chunk_last = 0;  // see choose_lengths(); and who says how long chunks are to be gets exactly that
  return options;
}

std::uint64_t CallTimes::usual() const noexcept {
  const std::size_t kept = std::min<std::uint64_t>(count_, kSamples);
  if (kept == 0) {
    return 0;
  }
  auto sorted = samples_;
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(kept));
  const std::size_t counted = std::max<std::size_t>(kept * 3 / 4, 1);
  return std::accumulate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(counted), std::uint64_t{0}) /
         counted;
}

/// The submission in progress is timed. Returns when it began; 0 if that does not matter.
[[gnu::hot]] std::uint64_t Lane::start_timing() noexcept {
  State& state = *state_;
  state.next_timed = sequence_ + (state.program_holding ? kTimedLater : kTimedAtFirst);
  return state.replaying ? now_ns() : 0;
}

/// With the lock held, at the end of a submission that is held.
[[gnu::hot]] void Lane::note_hold_time(std::uint64_t started_ns) noexcept {
  State& state = *state_;
  state.left_ns = now_ns();
  state.left_holding = true;
  if (held_count_.load(std::memory_order_relaxed) != 0 && state.hold_times.add(state.left_ns - started_ns)) {
    state.hold_cost_ns = state.hold_times.usual();
  }
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
    state.left_ns = 0;
    const std::uint64_t since = sequence_ - std::exchange(state.expired_at, sequence_);
    const std::uint64_t chosen_for = state.chunks_for_ns.load(std::memory_order_relaxed);
    if (chosen_for != 0 && since > (held < kHardlyAny ? kNearlyEvery : kRarely)) {
      state.expired_often = 1;
      return;  // some program pauses now and then
    }
    if (chosen_for != 0 && held >= kHardlyAny) {
      // The program does not take the same time everywhere.
      if (++state.expired_often >= kTooOften) {
        const std::uint32_t longest = std::max(state.ways[0].most, state.ways[1].most);
        state.expired_often = 0;
        state.fitting = std::min(state.fitting, std::max(held * 3 / 4, longest / 2));
        choose_lengths(chosen_for, "the hold limit came often");
      }
      return;
    }
    state.expired_ns = std::max(state.expired_ns, std::min(limit / held, kNoProgramTime));
    suit_lengths();
    return;
  }
  const std::uint64_t spent = now_ns() - std::exchange(state.left_ns, 0);
  // Behind a call of the driver the program takes longer than behind one that was held: caches are cold.
  if (spent > kNoProgramTime || (state.program_holding && !state.left_holding)) {
    return;
  }
  if (state.left_holding && !state.program_holding) {
    state.program_holding = true;
    state.program_times.clear();
  }
  // Never fewer again: programs that use several queues now and then would change for ever.
  state.queues =
      std::max(state.queues, static_cast<std::uint32_t>(std::min<std::size_t>(state.held_queues.size(), kMostQueues)));
  if (state.program_times.add(spent)) {
    suit_lengths();
    state.expired_ns /= 2;
    forgive();
  }
}

/// Chunks that were made shorter because the limit for holding came may be longer again if it has not come for long.
void Lane::forgive() noexcept {
  State& state = *state_;
  if (state.fitting == kAnyLength || sequence_ - state.expired_at < kForgiven << state.forgiven) {
    return;
  }
  state.forgiven = std::min(state.forgiven + kForgivenLater, kForgivenLast);
  state.fitting = kAnyLength;
  choose_lengths(state.chunks_for_ns.load(std::memory_order_relaxed), "the hold limit has not come for long");
}

void Lane::suit_lengths() noexcept {
  State& state = *state_;
  const std::uint64_t each =
      std::max(state.program_times.usual(), state.expired_ns) + state.hold_cost_ns.load(std::memory_order_relaxed) + 1;
  // Only when it matters: different lengths are different graphs.
  const std::uint64_t chosen_for = state.chunks_for_ns.load(std::memory_order_relaxed);
  if (chosen_for == 0 || state.queues != state.chunks_for_queues || each > chosen_for * kOther ||
      each * kOther < chosen_for) {
    state.chunks_for_ns.store(each, std::memory_order_relaxed);
    state.chunks_for_queues = state.queues;
    choose_lengths(each, chosen_for == 0 ? "the program's times are known" : "the program's times have changed");
  }
}

std::uint32_t Lane::longest_chunk() const noexcept {
  const backends::ChunkSizes suits = engine_.shared().backend.chunk_sizes();
  const bool several = state_->queues > 1 && suits.most_of_several != 0;
  return engine_.settings().chunk_max != 0 || several ? state_->lengths.most
                                                      : std::min(state_->lengths.most, suits.most);
}

/// Before anything is known of the program.
void Lane::start_lengths() noexcept {
  ChunkLengths lengths = state_->lengths;
  lengths.most = longest_chunk();
  lengths.last = 0;
  for (std::uint32_t way = 0; way < kChunkWays; ++way) {
    state_->matcher.set_lengths(way, lengths);
  }
}

void Lane::choose_lengths(std::uint64_t each, const char* because) noexcept {
  State& state = *state_;
  const auto filled = [each](std::uint64_t time, std::uint64_t least, std::uint64_t most) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(time / each, least, std::max(least, most)));
  };
  const std::uint32_t longest = longest_chunk();
  const std::uint64_t fits =
      static_cast<std::uint64_t>(engine_.settings().hold_limit_us) * 1000 * kPercentOfLimit / 100;
  const bool slow = each >= kSlow;
  const std::uint32_t last = state.lengths.last == 0 ? 0 : filled(kLastFilled, 1, state.lengths.last);
  std::array<ChunkLengths, kChunkWays> ways;
  ChunkLengths lengths = state.lengths;
  lengths.first *= state.queues;
  const std::uint32_t fitting = std::max(state.fitting, kShortestMost);
  const std::uint32_t worth_it = filled(fits, kShortestMost, std::min({kWorthIt, longest, fitting}));
  lengths.most = filled(kLongestFilled, worth_it, longest);
  // Of much that repeats within a stretch, bodies of loops and their arguments, round lengths are whole multiples.
  const auto round = [slow](std::uint32_t most) { return slow ? most & ~(kShortestMost - 1) : most; };
  lengths.most = slow ? round(lengths.most) : std::bit_floor(lengths.most);
  lengths.last = 0;
  if (each <= kFast && state.queues == 1) {
    lengths.growth = std::max(lengths.growth, kFastGrowth);
  }
  if (slow) {  // first, growth, most, last
    lengths = {lengths.most, std::max(lengths.growth, kSlowGrowth), lengths.most, last};
  }
  ways[0] = lengths;
  lengths.most =
      round(std::clamp(filled(std::max(kLongestFilled, fits), kShortestMost, longest), kShortestMost, fitting));
  lengths.last = last;
  ways[1] = lengths;
  const std::uint32_t least_even = !slow ? 2 : state.queues > 1 ? 2 * kShortestMost : kShortestMost;
  const auto even = [&](std::uint64_t time) {
    const std::uint32_t each_piece = filled(time, least_even, std::min<std::uint64_t>(kLongestEven, longest));
    return ChunkLengths{each_piece, 1, each_piece, 0};
  };
  ways[2] = even(kEvenFilled);
  ways[3] = even(2 * kEvenFilled);
  if (ways == state.ways) {
    return;
  }
  state.ways = ways;
  for (std::uint32_t way = 0; way < kChunkWays; ++way) {
    state.matcher.set_lengths(way, ways[way]);
  }
  if (env::log_enabled(env::LogLevel::kDebug)) {
    log_lengths(each, because);
  }
  state.spans.ways_changed(!state.lengths_free ? 1 : state.queues > 1 ? kChunkWays : kWaysOfOne);
}

void Lane::log_lengths(std::uint64_t each, const char* because) const noexcept {
  const State& state = *state_;
  try {
    std::string text =
        fmt::format("thread {}, after {} submissions: {} ({} ns each", number_, sequence_, because, each);
    if (state.expired_ns != 0) {
      text += fmt::format(", {} where the hold limit came", state.expired_ns);
    }
    if (state.fitting != kAnyLength) {
      text += fmt::format(", of which {} fit into it", state.fitting);
    }
    text += "), so that graphs are divided anew (first, growth, longest, last):";
    for (const ChunkLengths& way : state.ways) {
      text += fmt::format(" {}, {}, {}, {};", way.first, way.growth, way.most, way.last);
    }
    text.back() = '.';
    env::log_debug(text);
  } catch (const std::exception&) {  // then nobody is told
  }
}

}  // namespace refrain::replay
