#include "replay/policy/chunk_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "env/log.h"
#include "replay/tuning.h"

namespace refrain::replay {
namespace {

/// Chunk plans that are tried where all is submitted to one queue; over several there is one more.
constexpr std::uint32_t kPlansOfOne = 3;  // format
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
                       Matcher& matcher, IntervalTrial& intervals) noexcept
    : lane_(lane),
      hold_limit_ns_(static_cast<std::uint64_t>(settings.hold_limit_us) * 1000),
      cap_set_(settings.chunk_max != 0),
      free_(lengths_are_free(settings)),
      suits_(suits),
      wanted_(wanted_lengths(matcher_options(settings, suits), suits.last)),
      matcher_(matcher),
      intervals_(intervals),
      next_sample_(tuning::kTimedAtFirst) {
  plans_.fill(kNoLengths);
  intervals_.configure(settings.gate && settings.mode == env::Mode::kReplay, free_ ? kPlansOfOne : 1);
  // Before anything is known of the program.
  ChunkLengths lengths = wanted_;
  lengths.most = longest_chunk();
  lengths.last = 0;
  for (std::uint32_t plan = 0; plan < kChunkPlans; ++plan) {
    matcher_.set_lengths(plan, lengths);
  }
}

[[gnu::hot]] std::uint64_t ChunkTuner::begin_sample(std::uint64_t submission) noexcept {
  next_sample_ = submission + (app_holding_ ? tuning::kTimedOf : tuning::kTimedAtFirst);
  return now_ns();
}

[[gnu::hot]] void ChunkTuner::end_held(std::uint64_t started_ns, bool still) noexcept {
  left_ns_ = now_ns();
  left_holding_ = true;
  if (still && hold_times_.add(left_ns_ - started_ns)) {
    hold_cost_ns_ = hold_times_.usual();
  }
}

void ChunkTuner::app_time(std::uint64_t submission, std::size_t queues) noexcept {
  submission_ = submission;
  if (!free_) {  // lengths that the user gave are left alone
    left_ns_ = 0;
    return;
  }
  const std::uint64_t spent = now_ns() - std::exchange(left_ns_, 0);
  // Longer than any chunk may take to be filled: it did something else. And behind a call of the driver the program
  // takes longer than behind one that was held: caches are cold.
  if (spent > hold_limit_ns_ * tuning::kPercentOfLimit / 100 || (app_holding_ && !left_holding_)) {
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
  }
}

void ChunkTuner::learn(const Pace& known) noexcept {
  if (!free_ || known.call_ns == 0 || call_ns() != 0) {
    return;
  }
  queues_ = chosen_for_queues_ = std::clamp(known.queues, 1U, kMostQueues);
  chosen_for_ns_.store(known.call_ns, std::memory_order_relaxed);
  choose_lengths(known.call_ns, "an earlier run has found out the program's times");
  queues_ = 1;  // once times are known, what was seen here counts
}

ProgramPace ChunkTuner::pace(std::uint64_t each_ns) const noexcept {
  return {.each_ns = each_ns,
          .queues = queues_,
          .suits = wanted_,
          .longest = longest_chunk(),
          .hold_limit_ns = hold_limit_ns_};
}

void ChunkTuner::suit_lengths() noexcept {
  const std::uint64_t each = app_times_.usual() + hold_cost_ns() + 1;
  // Only when it matters: different lengths are different graphs.
  const std::uint64_t chosen_for = call_ns();
  if (chosen_for == 0 || queues_ != chosen_for_queues_ || each > chosen_for * tuning::kOtherPace ||
      each * tuning::kOtherPace < chosen_for) {
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
  const std::array<ChunkLengths, kChunkPlans> plans = chunk_plans(pace(each));
  const std::uint32_t count = queues_ > 1 ? kChunkPlans : kPlansOfOne;
  if (std::equal(plans.begin(), plans.begin() + count, plans_.begin())) {
    return;
  }
  plans_.fill(kNoLengths);
  for (std::uint32_t plan = 0; plan < count; ++plan) {
    plans_[plan] = plans[plan];
    matcher_.set_lengths(plan, plans[plan]);
  }
  intervals_.plans_changed(free_ ? count : 1);
  log_lengths(each, because);
}

void ChunkTuner::log_lengths(std::uint64_t each, const char* because) const noexcept {
  if (!env::log_enabled(env::LogLevel::kDebug)) {
    return;
  }
  try {
    std::string text =
        fmt::format("thread {}, after {} submissions: {} ({} ns each", lane_, submission_, because, each);
    text += "), so that the chunk plans are others (first, growth, longest, last):";
    for (const ChunkLengths& plan : plans_) {
      if (plan != kNoLengths) {
        text += fmt::format(" {}, {}, {}, {};", plan.first, plan.growth, plan.most, plan.last);
      }
    }
    text.back() = '.';
    env::log_debug(text);
  } catch (const std::exception&) {  // then nobody is told
  }
}

}  // namespace refrain::replay
