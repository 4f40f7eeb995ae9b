// What a lane counts for the report: one thread counts, any may read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "replay/policy/interval_timeline.h"

namespace refrain::replay {

class Counter {
 public:
  void add(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// How often something with a name of static lifetime happened.
class NamedCounts {
 public:
  void add(const char* name) noexcept {
    for (std::size_t i = 0; i < kMost; ++i) {
      const char* known = names_[i].load(std::memory_order_relaxed);
      if (known == nullptr) {
        names_[i].store(name, std::memory_order_release);
        known = name;
      }
      if (known == name || i == kMost - 1) {  // the last one takes what has no place of its own
        counts_[i].add();
        return;
      }
    }
  }
  /// Returns how much that was in all.
  std::uint64_t collect(std::map<std::string, std::uint64_t>& into) const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < kMost; ++i) {
      const char* name = names_[i].load(std::memory_order_acquire);
      if (name == nullptr) {
        break;
      }
      const std::uint64_t count = counts_[i].get();
      into[name] += count;
      all += count;
    }
    return all;
  }

 private:
  static constexpr std::size_t kMost = 48;  // limit
  std::array<std::atomic<const char*>, kMost> names_{};
  std::array<Counter, kMost> counts_;
};

struct LaneCounters {
  Counter submissions;  ///< every submission seen
  Counter replayed;     ///< of these, submitted as part of a native command buffer
  Counter between;      ///< issued between the parts of a graph
  Counter predicted;    ///< held without being looked at, see Prediction
  Counter launches;
  Counter followed;     ///< issued as part of a known stretch that is not replayed (see the graphs)
  Counter recorded;     ///< issued while a stretch was being recorded
  Counter held_issued;  ///< held, but issued eagerly in the end
  Counter not_ready;    ///< of these, in whole chunks that no graph could take
  Counter expired;      ///< flushes by the watchdog
  Counter taken_back;   ///< calls that waited behind what was held, and need not be made any more
  Counter unholdable;   ///< of all names in unholdable_by
  Counter dormant;      ///< not looked at, because nothing had paid for a long time
  Counter stopped;      ///< not looked at, because Refrain was stopped
  Counter cuts;         ///< stretches that have ended, but for those that a blocking submission ended
  Counter verified, unverified, differences;
  Counter compared;  ///< bytes, of those verified
  NamedCounts unholdable_by;
  NamedCounts cut_by;     ///< stretches by what ended them
  NamedCounts unchecked;  ///< verify mode: replays that could not be checked, and why

  /// What was held, and is not any more.
  [[nodiscard]] HeldCounts held() const noexcept {
    return {replayed.get() + between.get(), held_issued.get(), launches.get()};
  }
  void count_unholdable(const char* why) noexcept {
    unholdable_by.add(why);
    unholdable.add();
  }
  /// Submissions that no graph will make faster: of stretches that are known and do not pay, or of a kind that is never
  /// held.
  [[nodiscard]] std::uint64_t hopeless() const noexcept { return followed.get() + unholdable.get(); }
};

}  // namespace refrain::replay
