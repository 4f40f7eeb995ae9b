// Which of the later replays of a graph verify mode compares: the setting verify_every.
#pragma once

#include <atomic>
#include <cstdint>

#include "replay/runtime/clock.h"

namespace refrain::replay {

/// Of all graphs together. Thread-safe.
class VerificationSampling {
 public:
  /// `every`: one in so many; 0: one in a thousand, as long as comparisons take no more than a 25th of the time from
  /// now on.
  explicit VerificationSampling(std::uint64_t every) noexcept : every_(every) {}

  /// Whether the graph's replay of this number is to be compared.
  [[nodiscard]] bool due(std::uint64_t number) const noexcept {
    constexpr std::uint64_t kEvery = 1000;  // limit
    constexpr std::uint64_t kShare = 25;    // limit
    return every_ != 0
               ? number % every_ == 0
               : number % kEvery == 0 && taken_ns_.load(std::memory_order_relaxed) * kShare <= now_ns() - start_ns_;
  }
  /// A comparison, whichever, took so long.
  void took(std::uint64_t ns) noexcept { taken_ns_.fetch_add(ns, std::memory_order_relaxed); }

 private:
  const std::uint64_t every_;
  const std::uint64_t start_ns_ = now_ns();
  std::atomic<std::uint64_t> taken_ns_{0};
};

}  // namespace refrain::replay
