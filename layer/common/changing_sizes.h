// Whether something keeps coming in sizes, or as kernels, that never came before: then a graph for each of them would
// never be launched a second time, and one is changed instead.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace refrain::layer::common {

/// Of one family of kernels, or of the copies of one stream. Any threads: what two of them note at once may be
/// forgotten.
class ChangingSizes {
 public:
  /// Notes a size, as a hash, that came in the stretch of that number (Lane::stretch()). True if a new size came in so
  /// many stretches that more are to be expected, from then on for good. What a program does the same each time has all
  /// of its sizes in its first stretches.
  [[nodiscard]] bool note(std::uint64_t size, std::uint64_t stretch) noexcept {
    if (last_.load(std::memory_order_relaxed) != size) {
      last_.store(size, std::memory_order_relaxed);
      if (is_new(size) && stretch_.exchange(stretch, std::memory_order_relaxed) != stretch) {
        count_.fetch_add(1, std::memory_order_relaxed);
      }
    }
    return change();
  }
  /// What note() said last.
  [[nodiscard]] bool change() const noexcept { return count_.load(std::memory_order_relaxed) >= kMany; }

  void reset() noexcept {
    for (auto* number : {&last_, &stretch_, &count_}) {
      number->store(0, std::memory_order_relaxed);
    }
    for (auto& word : seen_) {
      word.store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::uint64_t kMany = 8;

  /// Two bits of a Bloom filter: some new sizes are taken for known ones, never the other way round.
  [[nodiscard]] bool is_new(std::uint64_t size) noexcept {
    bool known = true;
    for (const std::uint64_t bit : {size % kBits, (size >> 8U) % kBits}) {
      const std::uint64_t mask = std::uint64_t{1} << bit % 64;
      known = (seen_[bit / 64].fetch_or(mask, std::memory_order_relaxed) & mask) != 0 && known;
    }
    return !known;
  }

  static constexpr std::uint64_t kBits = 256;
  std::atomic<std::uint64_t> last_{0}, stretch_{0}, count_{0};
  std::array<std::atomic<std::uint64_t>, kBits / 64> seen_{};
};

}  // namespace refrain::layer::common
