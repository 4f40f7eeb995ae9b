// Whether a graph deserves one more instance, the first one too. A build keeps the program waiting; so do arguments
// that are changed before a launch, and operations that are issued one by one for want of an instance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "replay/graph/argument_hashes.h"

namespace refrain::replay {

/// Not thread-safe: the graph's entry guards it.
class InstanceWorth {
 public:
  /// What became of a graph so far.
  struct Done {
    std::uint64_t builds = 0;
    std::uint64_t fitted = 0;              ///< launches of an instance that had the arguments
    std::uint64_t changed = 0;             ///< launches of one that was given them
    std::uint64_t changed_operations = 0;  ///< in all of the latter
  };

  /// So many operations were issued one by one: they were recorded, or no instance could be launched.
  void issued(std::size_t operations) noexcept { issued_ += operations; }
  /// Building one more costs no more than what has been lost without it.
  [[nodiscard]] bool pays(const Done& done) const noexcept;

  /// No instance had these arguments: remembers them. True if that was so before.
  [[nodiscard]] bool come_back(const ArgumentHashes& arguments) noexcept;
  /// One of `instances` was given these arguments, in `changed` operations others than it had: remembers them. True if
  /// one with these, or most of these, would be used again. May throw std::bad_alloc.
  [[nodiscard]] bool deserve_own(const ArgumentHashes& arguments, std::size_t changed, std::size_t instances);

 private:
  [[nodiscard]] bool nearly_come_back(const ArgumentHashes& arguments);

  std::uint64_t issued_ = 0;                  ///< operations
  std::array<std::uint64_t, 128> last_ = {};  ///< hashes of the last arguments that no instance had
  std::uint64_t last_count_ = 0;
  std::array<ArgumentHashes, 8> last_changed_;  ///< those for which most operations were changed
  std::uint64_t last_changed_count_ = 0;
};

}  // namespace refrain::replay
