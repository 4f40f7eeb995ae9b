// Which occurrences of a graph are compared with eager execution in verify mode, and what becomes of the others.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace refrain::replay {

/// Of one graph. Thread-safe.
class Verification {
 public:
  enum class Turn : std::uint8_t {
    kCompare,
    kReplay,  ///< it was equal the last time
    kIssue,   ///< it could not be compared, several times: not replayed, and tried again more and more seldom
  };

  /// Of the next occurrence. `is_due(number)`: whether a later one is to be compared. kCompare is to be followed by one
  /// of the calls below.
  template <class IsDue>
  [[nodiscard]] Turn next(IsDue&& is_due) noexcept {
    if (why_not() != nullptr) {
      const std::uint64_t tries = tries_.fetch_add(1, std::memory_order_relaxed);
      return tries < kFirst || std::has_single_bit(tries) ? Turn::kCompare : Turn::kIssue;
    }
    const std::uint64_t turn = turns_.fetch_add(1, std::memory_order_relaxed);
    return turn < kFirst || is_due(turn) ? Turn::kCompare : Turn::kReplay;
  }
  /// Takes the next occurrence if it is one to be replayed; otherwise next() is to be asked.
  template <class IsDue>
  [[nodiscard]] bool take_replay(IsDue&& is_due) noexcept {
    std::uint64_t turn = turns_.load(std::memory_order_relaxed);
    return why_not() == nullptr && turn >= kFirst && !is_due(turn) &&
           turns_.compare_exchange_strong(turn, turn + 1, std::memory_order_relaxed);
  }
  void equal() noexcept {
    why_not_.store(nullptr, std::memory_order_relaxed);
    tries_.store(0, std::memory_order_relaxed);
  }
  /// It could not be compared; `why` has static lifetime.
  void failed(const char* why) noexcept { why_not_.store(why, std::memory_order_relaxed); }
  /// Nor could it, but the next one may be: that try does not count.
  void soon(const char* why) noexcept {
    failed(why);
    tries_.store(0, std::memory_order_relaxed);
  }
  [[nodiscard]] const char* why_not() const noexcept { return why_not_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t kFirst = 3;  // limit

  std::atomic<std::uint64_t> turns_{0};  ///< since it was equal for the first time
  std::atomic<std::uint64_t> tries_{0};  ///< without a comparison
  std::atomic<const char*> why_not_{"it was not compared yet"};
};

}  // namespace refrain::replay
