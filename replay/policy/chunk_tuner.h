// How long the chunks of a lane are: what settings and backend want, and what suits the time that the program takes
// from one submission to the next (plan_lengths.h), which is measured here.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "env/settings.h"
#include "replay/detect/matcher.h"
#include "replay/policy/call_times.h"
#include "replay/policy/interval_trial.h"
#include "replay/policy/plan_lengths.h"
#include "replay/runtime/clock.h"

namespace refrain::replay {

/// What the matcher of a lane is to be made with.
[[nodiscard]] MatcherOptions matcher_options(const env::Settings& settings, const backends::ChunkSizes& suits);

/// One per lane, for its own thread; what is only read is for any thread. Tells matcher and gate
/// when chunks are to have other lengths. Nothing throws.
class ChunkTuner {
 public:
  /// `lane`: its number, for the log. All that is referred to must outlive it.
  ChunkTuner(const env::Settings& settings, const backends::ChunkSizes& suits, std::uint64_t lane, Matcher& matcher,
             IntervalTrial& intervals) noexcept;

  // One submission in so many is timed, from its beginning to the next one's: what holding it takes, and then what the
  // program does until the next.

  /// Number of the next submission that is timed.
  [[nodiscard]] std::uint64_t next_sample() const noexcept { return next_sample_; }
  [[nodiscard]] bool is_sample(std::uint64_t submission) const noexcept { return submission >= next_sample_; }
  /// That one begins. Returns when, in nanoseconds.
  [[nodiscard]] std::uint64_t begin_sample(std::uint64_t submission) noexcept;
  /// It ends, and was held, or was issued. `still`: it is held even now.
  void end_held(std::uint64_t started_ns, bool still) noexcept;
  void end_issued() noexcept {
    left_ns_ = now_ns();
    left_holding_ = false;
  }
  /// The next call is no submission: what the program does until then says nothing.
  void stop_app_clock() noexcept { left_ns_ = 0; }
  [[nodiscard]] bool app_clock_runs() const noexcept { return left_ns_ != 0; }
  /// `queues`: for which work is held.
  void app_time(std::uint64_t submission, std::size_t queues) noexcept;

  /// What another run of the program found out of its pace; before the first submission. Times that differ change it.
  struct Pace {
    std::uint64_t call_ns = 0;  ///< see call_ns()
    std::uint32_t queues = 1;   ///< for which work is held at once
    friend bool operator==(const Pace&, const Pace&) = default;
  };
  [[nodiscard]] Pace known() const noexcept { return {call_ns(), chosen_for_queues_}; }
  void learn(const Pace& known) noexcept;

  /// Whether there is a plan with few launches, for programs that do not wait.
  [[nodiscard]] bool has_few_launches() const noexcept { return plans_[kFewLaunches] != kNoLengths; }
  /// What holding one operation usually takes.
  [[nodiscard]] std::uint64_t hold_cost_ns() const noexcept { return hold_cost_ns_.load(std::memory_order_relaxed); }
  /// What the program takes for each submission, as far as lengths were chosen for it; 0: not yet.
  [[nodiscard]] std::uint64_t call_ns() const noexcept { return chosen_for_ns_.load(std::memory_order_relaxed); }

 private:
  void suit_lengths() noexcept;
  void choose_lengths(std::uint64_t each, const char* because) noexcept;
  void log_lengths(std::uint64_t each, const char* because) const noexcept;
  [[nodiscard]] ProgramPace pace(std::uint64_t each_ns) const noexcept;
  [[nodiscard]] std::uint32_t longest_chunk() const noexcept;

  const std::uint64_t lane_;
  const std::uint64_t hold_limit_ns_;
  const bool cap_set_;  ///< by the user
  const bool free_;     ///< neither the first length nor the growth was set by the user
  const backends::ChunkSizes suits_;
  const ChunkLengths wanted_;  ///< by settings and backend
  Matcher& matcher_;
  IntervalTrial& intervals_;

  std::uint64_t submission_ = 0;  ///< number of the one in progress
  std::uint64_t next_sample_;
  std::uint64_t left_ns_ = 0;  ///< when the layer was left after a sampled submission; 0: not now
  bool left_holding_ = false;  ///< that submission was held
  CallTimes app_times_;        ///< the program's own, between two submissions …
  bool app_holding_ = false;   ///< … of which the first was held (once there were enough of them)
  CallTimes hold_times_;       ///< what holding one operation took
  std::atomic<std::uint64_t> hold_cost_ns_{80};

  std::uint32_t queues_ = 1;  ///< of which something was held at once, as far as it matters
  std::uint32_t chosen_for_queues_ = 1;
  std::atomic<std::uint64_t> chosen_for_ns_{0};
  std::array<ChunkLengths, kChunkPlans> plans_;  ///< chosen for the program; kNoLengths: not yet, or not there
};

}  // namespace refrain::replay
