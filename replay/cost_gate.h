// Decides from measurements whether replaying a graph pays (promise 6 of the contract).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace refrain::replay {

/// The last few samples of a cost, in nanoseconds.
class RecentCosts {
 public:
  void add(std::uint64_t ns) noexcept {
    samples_[count_ % samples_.size()] = ns;
    ++count_;
  }
  void clear() noexcept { count_ = 0; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// Median of the samples kept; 0 if there is none.
  [[nodiscard]] std::uint64_t median() const noexcept {
    auto sorted = samples_;
    const std::size_t kept = std::min<std::uint64_t>(count_, sorted.size());
    if (kept == 0) {
      return 0;
    }
    std::nth_element(sorted.begin(), sorted.begin() + kept / 2, sorted.begin() + kept);
    return sorted[kept / 2];
  }

 private:
  std::array<std::uint64_t, 7> samples_{};
  std::uint64_t count_ = 0;
};

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
    if (eager_.count() < kWanted) {
      return Verdict::kNeedEager;
    }
    const auto eager = static_cast<double>(eager_.median());
    if (replay_.count() >= kWanted) {
      return static_cast<double>(replay_.median()) <= eager * factor_ ? Verdict::kPays : Verdict::kDoesNotPay;
    }
    // Clearly worse already: no need to pay for further samples.
    if (replay_.count() >= 1 && static_cast<double>(replay_.median()) > 1.5 * eager) {
      return Verdict::kDoesNotPay;
    }
    return Verdict::kNeedReplay;
  }

  [[nodiscard]] std::uint64_t eager_ns() const noexcept { return eager_.median(); }
  [[nodiscard]] std::uint64_t replay_ns() const noexcept { return replay_.median(); }
  [[nodiscard]] bool enabled() const noexcept { return enabled_; }

 private:
  static constexpr std::uint64_t kWanted = 3;
  bool enabled_;
  double factor_;
  RecentCosts eager_;
  RecentCosts replay_;
  std::uint64_t replays_ = 0;
};

}  // namespace refrain::replay
