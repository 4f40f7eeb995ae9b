// Decides from measurements whether replaying a graph pays (promise 6 of the contract).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "replay/tuning.h"

namespace refrain::replay {

/// The last few samples of a cost, in nanoseconds. Asked more often than told: they are kept in order.
class RecentCosts {
 public:
  static constexpr std::size_t kKept = 7;  // limit: what is remembered
  void add(std::uint64_t ns) noexcept {
    std::size_t place = kept();
    std::uint64_t& oldest = samples_[count_ % kKept];
    if (place == kKept) {
      place = static_cast<std::size_t>(std::find(sorted_.begin(), sorted_.end(), oldest) - sorted_.begin());
    }
    oldest = ns;
    ++count_;
    // The place of the one that goes moves to where the new one belongs.
    for (; place != 0 && sorted_[place - 1] > ns; --place) {
      sorted_[place] = sorted_[place - 1];
    }
    for (; place + 1 < kept() && sorted_[place + 1] < ns; ++place) {
      sorted_[place] = sorted_[place + 1];
    }
    sorted_[place] = ns;
  }
  void clear() noexcept { count_ = 0; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// Median of the samples kept; 0 if there is none.
  [[nodiscard]] std::uint64_t median() const noexcept { return at(kept() / 2); }
  /// Lower quartile: a disturbance of the machine makes samples larger, never smaller.
  [[nodiscard]] std::uint64_t low() const noexcept { return at((kept() - 1) / 4); }
  [[nodiscard]] std::uint64_t least() const noexcept { return at(0); }
  [[nodiscard]] std::uint64_t greatest() const noexcept { return at(kept() - 1); }

 private:
  [[nodiscard]] std::size_t kept() const noexcept { return std::min<std::uint64_t>(count_, kKept); }
  [[nodiscard]] std::uint64_t at(std::size_t index) const noexcept { return count_ == 0 ? 0 : sorted_[index]; }

  std::array<std::uint64_t, kKept> samples_{};  ///< a ring
  std::array<std::uint64_t, kKept> sorted_{};   ///< the same ones
  std::uint64_t count_ = 0;
};

/// How often what pays goes by until eager execution is measured again, after `checks` checks. The more it saves,
/// `worth` times as much, the more that costs, and the less likely it is that the answer has changed.
[[nodiscard]] inline std::uint64_t next_check(std::uint64_t worth, std::uint64_t checks) noexcept {
  std::uint64_t times = tuning::kFirstCheck * std::max<std::uint64_t>(worth, 1);
  for (; checks != 0 && times < tuning::kLastCheck; --checks) {
    times *= tuning::kRarer;
  }
  return std::min(times, tuning::kLastCheck);
}

/// Not thread-safe. The costs compared are those of one occurrence of the whole graph.
class CostGate {
 public:
  enum class Verdict : std::uint8_t {
    kNeedEager,   ///< measure eager execution first
    kNeedReplay,  ///< try the graph
    kPays,
    kDoesNotPay,
  };

  /// `margin_percent`: replay must be this much cheaper. Disabled gates say kPays as soon as asked.
  CostGate(bool enabled, double margin_percent) noexcept : enabled_(enabled), factor_(1.0 - margin_percent / 100.0) {}

  void add_eager(std::uint64_t ns) noexcept { eager_.add(ns); }
  /// The first replay after clear_replay() is a warm-up and is not counted, unless nothing but it is known.
  void add_replay(std::uint64_t ns) noexcept {
    if (++replays_ > 1) {
      replay_.add(ns);
    }
  }
  void clear_replay() noexcept {
    replay_.clear();
    replays_ = 0;
  }
  void clear_eager() noexcept { eager_.clear(); }

  [[nodiscard]] Verdict verdict() const noexcept {
    if (!enabled_) {
      return Verdict::kPays;
    }
    if (eager_.count() < tuning::kLaunchesWanted) {
      return Verdict::kNeedEager;
    }
    if (replay_.count() >= tuning::kLaunchesWanted) {
      return static_cast<double>(replay_.low()) <= static_cast<double>(eager_.low()) * factor_ ? Verdict::kPays
                                                                                               : Verdict::kDoesNotPay;
    }
    // Clearly worse already: no need to pay for further samples.
    return clearly_worse() ? Verdict::kDoesNotPay : Verdict::kNeedReplay;
  }
  /// Every replay took half as long again as every eager occurrence.
  [[nodiscard]] bool clearly_worse() const noexcept {
    return replay_.count() >= 1 && replay_.least() * 2 > eager_.greatest() * 3;
  }

  [[nodiscard]] std::uint64_t eager_ns() const noexcept { return eager_.low(); }
  [[nodiscard]] std::uint64_t replay_ns() const noexcept { return replay_.low(); }
  [[nodiscard]] bool enabled() const noexcept { return enabled_; }

 private:
  bool enabled_;
  double factor_;
  RecentCosts eager_;
  RecentCosts replay_;
  std::uint64_t replays_ = 0;
};

}  // namespace refrain::replay
