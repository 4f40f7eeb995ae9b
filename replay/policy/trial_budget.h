// What trying graphs may cost a program before they have saved anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "env/settings.h"

namespace refrain::replay {

/// One per engine; thread-safe. All times are in nanoseconds.
class TrialBudget {
 public:
  explicit TrialBudget(const env::Settings& settings) noexcept;

  /// A thread begins to try graphs, or ends. Each adds its share to the one account that all spend from: with a single
  /// share, threads that begin together would use it up before any of them has tried anything.
  [[nodiscard]] std::uint64_t join() noexcept;
  /// `joined_ns`: what join() returned.
  void leave(std::uint64_t joined_ns) noexcept;

  /// True while building and trying graphs has cost less than the budget.
  [[nodiscard]] bool may_build() const noexcept { return allows(spent_ns()); }
  /// Something was spent on building or trying.
  void spend(std::uint64_t ns) noexcept { spent_ns_.fetch_add(ns, std::memory_order_relaxed); }
  /// What graphs have saved pays for further ones.
  void earn(std::uint64_t ns) noexcept { earned_ns_.fetch_add(ns, std::memory_order_relaxed); }
  /// Intervals on trial were slower than without graphs by `ns`, or faster (negative), which makes up for earlier
  /// losses: launches take longer while graphs are built. may_lose(): another one may be tried. This is a second
  /// account with the same limit, so that the cost of building never keeps what was built from being tried.
  void lose(std::int64_t ns) noexcept;
  [[nodiscard]] bool may_lose() const noexcept { return allows(lost_ns_.load(std::memory_order_relaxed)); }
  [[nodiscard]] std::uint64_t spent_ns() const noexcept { return spent_ns_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool allows(std::uint64_t spent) const noexcept;
  [[nodiscard]] std::uint64_t tried_for() const noexcept;

  const bool limited_;
  const std::uint64_t permille_;  ///< of the time that threads try
  const std::uint64_t started_ns_;
  // Of threads that try graphs; times since started_ns_.
  std::atomic<std::uint64_t> trying_{0}, most_trying_{1};
  std::atomic<std::uint64_t> joined_sum_{0};  ///< when those that try now have begun
  std::atomic<std::uint64_t> left_sum_{0};    ///< how long those tried that have ended
  std::atomic<std::uint64_t> spent_ns_{0};
  std::atomic<std::uint64_t> earned_ns_{0};
  std::atomic<std::uint64_t> lost_ns_{0};
};

/// What one lane brings, from its first trial on. While its thread has ended and no other one has taken it over, it
/// brings nothing: there is nobody who tries. Owner thread only.
class TrialShare {
 public:
  explicit TrialShare(TrialBudget& budget) noexcept : budget_(budget) {}
  ~TrialShare() { pause(); }
  TrialShare(const TrialShare&) = delete;
  TrialShare& operator=(const TrialShare&) = delete;

  void join() noexcept {
    if (!since_ns_.has_value()) {
      since_ns_ = budget_.join();
    }
  }
  void pause() noexcept;
  void resume() noexcept;

 private:
  TrialBudget& budget_;
  std::optional<std::uint64_t> since_ns_;  ///< of TrialBudget::join()
  bool paused_ = false;
};

}  // namespace refrain::replay
