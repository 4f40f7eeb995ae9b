#include "replay/policy/chunk_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "env/log.h"

namespace refrain::replay {
namespace {

/// Ways of dividing stretches that are tried where all is submitted to one queue; over several there is one more.
constexpr std::uint32_t kWaysOfOne = 3;
/// One in so many submissions is timed, and fewer once the first are known: primes, so that it is not always the same
/// ones of a loop's body.
constexpr std::uint64_t kTimedAtFirst = 13, kTimedLater = 37;
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

bool lengths_are_free(const env::Settings& settings) noexcept {
  return settings.chunk_first == 0 && settings.chunk_growth == 0;
}

ChunkLengths wanted_lengths(const MatcherOptions& options, std::uint32_t last) noexcept {
  return {options.chunk_first, options.chunk_growth, options.chunk_cap, std::min(last, options.chunk_cap)};
}

}  // namespace

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

ChunkTuner::ChunkTuner(const env::Settings& settings, const backends::ChunkSizes& suits, std::uint64_t lane,
                       Matcher& matcher, SpanGate& spans) noexcept
    : lane_(lane),
      hold_limit_ns_(static_cast<std::uint64_t>(settings.hold_limit_us) * 1000),
      cap_set_(settings.chunk_max != 0),
      free_(lengths_are_free(settings)),
      suits_(suits),
      wanted_(wanted_lengths(matcher_options(settings, suits), suits.last)),
      matcher_(matcher),
      spans_(spans),
      next_sample_(kTimedAtFirst) {
  ways_.fill(kNoLengths);
  spans_.configure(settings.gate && settings.mode == env::Mode::kReplay, free_ ? kWaysOfOne : 1);
  // Before anything is known of the program.
  ChunkLengths lengths = wanted_;
  lengths.most = longest_chunk();
  lengths.last = 0;
  for (std::uint32_t way = 0; way < kChunkWays; ++way) {
    matcher_.set_lengths(way, lengths);
  }
}

[[gnu::hot]] std::uint64_t ChunkTuner::begin_sample(std::uint64_t submission) noexcept {
  next_sample_ = submission + (app_holding_ ? kTimedLater : kTimedAtFirst);
  return now_ns();
}

[[gnu::hot]] void ChunkTuner::end_held(std::uint64_t started_ns, bool still) noexcept {
  left_ns_ = now_ns();
  left_holding_ = true;
  if (still && hold_times_.add(left_ns_ - started_ns)) {
    hold_cost_ns_ = hold_times_.usual();
  }
}

/// The limit for holding came since the last submission.
void ChunkTuner::expired(std::uint64_t submission, std::uint32_t held) noexcept {
  left_ns_ = 0;
  const std::uint64_t since = submission - std::exchange(expired_at_, submission);
  const std::uint64_t chosen_for = call_ns();
  if (chosen_for != 0 && since > (held < kHardlyAny ? kNearlyEvery : kRarely)) {
    expired_often_ = 1;
    return;  // some program pauses now and then
  }
  if (chosen_for != 0 && held >= kHardlyAny) {
    // The program does not take the same time everywhere.
    if (++expired_often_ >= kTooOften) {
      const std::uint32_t longest = std::max(ways_[0].most, ways_[1].most);
      expired_often_ = 0;
      fitting_ = std::min(fitting_, std::max(held * 3 / 4, longest / 2));
      choose_lengths(chosen_for, "the hold limit came often");
    }
    return;
  }
  expired_ns_ = std::max(expired_ns_, std::min(hold_limit_ns_ / held, kNoProgramTime));
  suit_lengths();
}

void ChunkTuner::app_time(std::uint64_t submission, std::size_t queues) noexcept {
  submission_ = submission;
  const std::uint32_t held = expired_held_.exchange(0, std::memory_order_relaxed);
  // Lengths that the user gave are left alone, unless nothing that long is ever filled.
  if (held == 0 && !free_) {
    left_ns_ = 0;
    return;
  }
  if (held != 0) {
    expired(submission, held);
    return;
  }
  const std::uint64_t spent = now_ns() - std::exchange(left_ns_, 0);
  // Behind a call of the driver the program takes longer than behind one that was held: caches are cold.
  if (spent > kNoProgramTime || (app_holding_ && !left_holding_)) {
    return;
  }
  if (left_holding_ && !app_holding_) {
    app_holding_ = true;
    app_times_.clear();
  }
  // Never fewer again: programs that use several queues now and then would change for ever.
  queues_ = std::max(queues_, static_cast<std::uint32_t>(std::min<std::size_t>(queues, kMostQueues)));
  if (app_times_.add(spent)) {
    suit_lengths();
    expired_ns_ /= 2;
    forgive();
  }
}

ProgramPace ChunkTuner::pace(std::uint64_t each_ns) const noexcept {
  return {.each_ns = each_ns,
          .queues = queues_,
          .suits = wanted_,
          .longest = longest_chunk(),
          .fitting = fitting_,
          .hold_limit_ns = hold_limit_ns_};
}

/// Chunks that were made shorter because the limit for holding came may be longer again if it has not come for long.
void ChunkTuner::forgive() noexcept {
  if (fitting_ == kAnyLength || submission_ - expired_at_ < kForgiven << forgiven_) {
    return;
  }
  forgiven_ = std::min(forgiven_ + kForgivenLater, kForgivenLast);
  fitting_ = kAnyLength;
  choose_lengths(call_ns(), "the hold limit has not come for long");
}

void ChunkTuner::suit_lengths() noexcept {
  const std::uint64_t each = std::max(app_times_.usual(), expired_ns_) + hold_cost_ns() + 1;
  // Only when it matters: different lengths are different graphs.
  const std::uint64_t chosen_for = call_ns();
  if (chosen_for == 0 || queues_ != chosen_for_queues_ || each > chosen_for * kOther || each * kOther < chosen_for) {
    chosen_for_ns_.store(each, std::memory_order_relaxed);
    chosen_for_queues_ = queues_;
    choose_lengths(each, chosen_for == 0 ? "the program's times are known" : "the program's times have changed");
  }
}

std::uint32_t ChunkTuner::longest_chunk() const noexcept {
  const bool several = queues_ > 1 && suits_.most_of_several != 0;
  return cap_set_ || several ? wanted_.most : std::min(wanted_.most, suits_.most);
}

void ChunkTuner::choose_lengths(std::uint64_t each, const char* because) noexcept {
  const std::array<ChunkLengths, kChunkWays> ways = chunk_ways(pace(each));
  const std::uint32_t count = queues_ > 1 ? kChunkWays : kWaysOfOne;
  if (std::equal(ways.begin(), ways.begin() + count, ways_.begin())) {
    return;
  }
  ways_.fill(kNoLengths);
  for (std::uint32_t way = 0; way < count; ++way) {
    ways_[way] = ways[way];
    matcher_.set_lengths(way, ways[way]);
  }
  spans_.ways_changed(free_ ? count : 1);
  log_lengths(each, because);
}

void ChunkTuner::log_lengths(std::uint64_t each, const char* because) const noexcept {
  if (!env::log_enabled(env::LogLevel::kDebug)) {
    return;
  }
  try {
    std::string text =
        fmt::format("thread {}, after {} submissions: {} ({} ns each", lane_, submission_, because, each);
    if (expired_ns_ != 0) {
      text += fmt::format(", {} where the hold limit came", expired_ns_);
    }
    if (fitting_ != kAnyLength) {
      text += fmt::format(", of which {} fit into it", fitting_);
    }
    text += "), so that graphs are divided anew (first, growth, longest, last):";
    for (const ChunkLengths& way : ways_) {
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
