// What the arguments of a stretch are, in few bytes: to find out which of many instances has the same ones, or nearly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/operation.h"

namespace refrain::replay {

/// Hashes of everything that same_work() compares, over all operations and of each. Not thread-safe.
class ArgumentHashes {
 public:
  /// May throw std::bad_alloc; then it is as after clear().
  void compute(std::span<const capture::OperationView> operations);
  void clear() noexcept {
    each_.clear();
    whole_ = 0;
  }
  [[nodiscard]] bool known() const noexcept { return !each_.empty(); }
  /// Operations.
  [[nodiscard]] std::size_t size() const noexcept { return each_.size(); }
  /// Equal for equal arguments; 0 if not known.
  [[nodiscard]] std::uint64_t whole() const noexcept { return whole_; }
  /// In how many operations the arguments are others. Stretches of different lengths differ in all.
  [[nodiscard]] std::size_t differing(const ArgumentHashes& other) const noexcept;

 private:
  std::vector<std::uint32_t> each_;  ///< halves: enough to count by, and sixteen are a line of the cache
  std::uint64_t whole_ = 0;
};

}  // namespace refrain::replay
