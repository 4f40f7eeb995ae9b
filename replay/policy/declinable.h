// What trials may decline, without knowing what it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::replay {

/// A graph that intervals are submitted with. Thread-safe.
class Declinable {
 public:
  virtual ~Declinable() = default;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;  ///< operations
  /// Whole intervals with this graph (submission to the end of the wait) were slower than eager ones.
  virtual void declined_by_interval(std::uint64_t eager_ns, std::uint64_t replay_ns) = 0;
};

}  // namespace refrain::replay
