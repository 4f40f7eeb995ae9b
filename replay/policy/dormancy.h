// When a lane in which nothing pays stops looking at what is submitted: for a while, then for longer and longer.
#pragma once

#include <cstdint>

#include "env/settings.h"
#include "replay/policy/backoff.h"

namespace refrain::replay {

/// Owner thread only. Counts are in submissions.
class Dormancy {
 public:
  /// What a lane has seen so far. All of it only grows.
  struct Seen {
    std::uint64_t submissions = 0;
    std::uint64_t replayed = 0;
    std::uint64_t hopeless = 0;         ///< of stretches that are known and do not pay, or of a kind that is never held
    std::uint64_t replayed_by_all = 0;  ///< by every lane of the engine
  };

  explicit Dormancy(const env::Settings& settings) noexcept;

  /// Before a submission is looked at. True if it is the first one since a cut.
  bool stretch_begins(std::uint64_t submission, std::uint64_t hopeless) noexcept {
    if (stretch_open_) {
      return false;
    }
    stretch_open_ = true;
    part_first_ = submission;
    hopeless_then_ = hopeless;
    return true;
  }
  /// At a cut. False if nothing was looked at since the last one.
  bool stretch_ends(std::uint64_t submission, std::uint64_t hopeless) noexcept {
    if (!stretch_open_) {
      return false;
    }
    stretch_open_ = false;
    part_ends(submission, hopeless);
    return true;
  }
  /// Behind a submission that was a cut itself: the stretch goes on with the next one, but no graph does.
  void part_ends(std::uint64_t submission, std::uint64_t hopeless) noexcept {
    alone_ += one_is_too_few_ && submission - part_first_ == hopeless - hopeless_then_ ? 1 : 0;
    part_first_ = submission + 1;
    hopeless_then_ = hopeless;
  }
  /// Another lane's work was the newest in a queue that this one submits to.
  void queue_handed_off() noexcept { ++handed_off_; }

  /// Whether enough was seen to consider().
  [[nodiscard]] bool is_due(std::uint64_t submissions) const noexcept {
    return dormant_after_ != 0 && submissions - since_.submissions >= dormant_after_;
  }
  /// For how many submissions nothing is looked at from now on; 0: the lane goes on. `on_trial`: submissions of the
  /// interval with which graphs are being compared, 0 if none are.
  std::uint64_t consider(const Seen& seen, std::uint64_t on_trial) noexcept;
  [[nodiscard]] bool is_dormant() const noexcept { return left_ != 0; }
  /// Until resume(): nothing is to be looked at for another reason.
  void stop() noexcept { left_ = kUntilResumed; }
  [[nodiscard]] bool is_stopped() const noexcept { return left_ == kUntilResumed; }
  /// One of them has come. True: it was the last one.
  [[nodiscard]] bool tick() noexcept { return !is_stopped() && --left_ == 0; }
  /// From now on it is looked at what comes.
  void resume(const Seen& seen) noexcept;

 private:
  static constexpr std::uint64_t kUntilResumed = ~std::uint64_t{0};  // format

  [[nodiscard]] std::uint64_t dormant_for(const Seen& seen, std::uint64_t on_trial) noexcept;
  [[nodiscard]] std::uint64_t hopeless(const Seen& seen) const noexcept { return seen.hopeless + alone_; }

  const std::uint64_t dormant_after_;  ///< so many are looked at before; 0: lanes are never dormant
  const std::uint64_t history_;        ///< compared with each other
  const bool one_is_too_few_;          ///< for a graph
  Backoff length_;
  std::uint64_t left_ = 0;  ///< submissions that are still not looked at
  bool stretch_open_ = false;
  Seen since_;  ///< when it began to look again
  std::uint64_t hopeless_since_ = 0;
  std::uint64_t handed_off_ = 0;  ///< queues, since then
  std::uint64_t alone_ = 0;       ///< with no other one between two cuts of which a graph could be made
  std::uint64_t part_first_ = 0;
  std::uint64_t hopeless_then_ = 0;
};

}  // namespace refrain::replay
