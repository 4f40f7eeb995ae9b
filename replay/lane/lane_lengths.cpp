// How long the chunks of a lane are: what settings and backend want, and what suits the time that the program takes
// from one submission to the next (chunk_ways.h), which is measured here.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>
#include <string>
#include <utility>

#include "env/log.h"
#include "replay/lane/lane.h"
#include "replay/lane/lane_state.h"
#include "replay/policy/chunk_ways.h"
#include "replay/runtime/clock.h"

namespace refrain::replay {
namespace {

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
// Whole chunks: shorter ones say little, and one in so many is timed once that is known. The way that follows from it
// is another one when they take twice or half as long, and so many submissions later, then four times as many, and so
// on (shifts): lengths that change are new graphs.
constexpr std::size_t kTimedChunk = 6;
constexpr std::uint64_t kFilledOf = 8;
constexpr std::uint64_t kFillingOther = 2;
constexpr std::uint64_t kFillingKept = 262'144;
constexpr std::uint32_t kFillingKeptLater = 2, kFillingKeptLast = 20;

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

/// With the lock held, when a chunk of so many is complete, all of which came as expected: what each took since the
/// first, without what timing a single one costs. 0: nobody wants to know.
[[gnu::hot]] std::uint64_t Lane::filling_time(std::size_t count) noexcept {
  State& state = *state_;
  if (!state.lengths_free || count < kTimedChunk ||
      state.filled++ % (state.filling_ns.load(std::memory_order_relaxed) == 0 ? 1 : kFilledOf) != 0) {
    return 0;
  }
  return (now_ns() - state.last_time_ns) / (count - 1);
}

/// Not for the sake of a few chunks, where most have other arguments each time.
void Lane::note_filling_time(std::uint64_t each_ns) noexcept {
  State& state = *state_;
  if (!state.filling_times.add(each_ns) || !state.filling_times.full() ||
      state.filled * 2 < state.counters.launches.get()) {
    return;
  }
  const std::uint64_t usual = std::max<std::uint64_t>(state.filling_times.usual(), 1);
  const std::uint64_t chosen_for = state.filling_ns.load(std::memory_order_relaxed);
  if (chosen_for != 0 && (sequence_ < state.filling_kept_to ||
                          (usual < chosen_for * kFillingOther && usual * kFillingOther > chosen_for))) {
    return;
  }
  state.filling_ns.store(usual, std::memory_order_relaxed);
  state.filling_kept_to = sequence_ + (kFillingKept << state.filling_changes);
  state.filling_changes = std::min(state.filling_changes + kFillingKeptLater, kFillingKeptLast);
  add_timed_way();
}

/// If there is one, and it is not there yet.
void Lane::add_timed_way() noexcept {
  State& state = *state_;
  const std::uint64_t each = state.chunks_for_ns.load(std::memory_order_relaxed);
  const std::uint64_t filling = state.filling_ns.load(std::memory_order_relaxed);
  if (each == 0 || filling == 0 || !state.lengths_free || state.queues > 1) {
    return;
  }
  const ChunkLengths timed = chunk_ways(pace(each))[kTimedWay];
  if (timed == kNoLengths || timed == state.ways[0] || timed == state.ways[kTimedWay]) {
    return;
  }
  state.ways[kTimedWay] = timed;
  state.matcher.set_lengths(kTimedWay, timed);
  state.spans.timed_way_added();
  log_lengths(each, "whole chunks were timed");
}

ProgramPace Lane::pace(std::uint64_t each_ns) const noexcept {
  const State& state = *state_;
  return {.each_ns = each_ns,
          .filling_ns = state.filling_ns.load(std::memory_order_relaxed),
          .queues = state.queues,
          .suits = state.lengths,
          .longest = longest_chunk(),
          .fitting = state.fitting,
          .hold_limit_ns = static_cast<std::uint64_t>(engine_.settings().hold_limit_us) * 1000};
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
  const std::array<ChunkLengths, kChunkWays> ways = chunk_ways(pace(each));
  const std::uint32_t count = state.queues > 1 ? kChunkWays : kWaysOfOne;
  if (std::equal(ways.begin(), ways.begin() + count, state.ways.begin())) {
    return;
  }
  state.ways.fill(kNoLengths);
  for (std::uint32_t way = 0; way < count; ++way) {
    state.ways[way] = ways[way];
    state.matcher.set_lengths(way, ways[way]);
  }
  state.spans.ways_changed(state.lengths_free ? count : 1);
  log_lengths(each, because);
  add_timed_way();
}

void Lane::log_lengths(std::uint64_t each, const char* because) const noexcept {
  const State& state = *state_;
  if (!env::log_enabled(env::LogLevel::kDebug)) {
    return;
  }
  try {
    std::string text =
        fmt::format("thread {}, after {} submissions: {} ({} ns each", number_, sequence_, because, each);
    if (state.expired_ns != 0) {
      text += fmt::format(", {} where the hold limit came", state.expired_ns);
    }
    if (const std::uint64_t filling = state.filling_ns.load(std::memory_order_relaxed); filling != 0) {
      text += fmt::format(", {} within a chunk", filling);
    }
    if (state.fitting != kAnyLength) {
      text += fmt::format(", of which {} fit into it", state.fitting);
    }
    text += "), so that graphs are divided anew (first, growth, longest, last):";
    for (const ChunkLengths& way : state.ways) {
      if (way != kNoLengths) {
        text += fmt::format(" {}, {}, {}, {};", way.first, way.growth, way.most, way.last);
      }
    }
    text.back() = '.';
    env::log_debug(text);
  } catch (const std::exception&) {  // then nobody is told
  }
}

}  // namespace refrain::replay
