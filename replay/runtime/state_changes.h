// Calls that change how later submissions behave: setters of attributes, limits and configurations. What they set is
// part of the tokens of everything that it concerns (OperationHeader::state). A driver takes what is set when a graph
// is made, so a graph made during such a call from earlier records would be wrong: other threads ask here whether
// anything is changing.
#pragma once

#include <atomic>
#include <cstdint>

namespace refrain::replay {

/// Two counters and no lock: a setter may wait for the device, and nobody may wait for it.
class StateChanges {
 public:
  /// begin(): before the driver is called. end(): once the new state can be seen by all threads.
  void begin() noexcept { begun_.fetch_add(1, std::memory_order_seq_cst); }
  void end() noexcept { ended_.fetch_add(1, std::memory_order_seq_cst); }

  static constexpr std::uint64_t kUnderWay = ~std::uint64_t{0};  // format
  /// How often anything changed so far; kUnderWay while something does.
  [[nodiscard]] std::uint64_t count() const noexcept {
    const std::uint64_t ended = ended_.load(std::memory_order_seq_cst);  // in this order
    return begun() == ended ? ended : kUnderWay;
  }
  /// How many changes have begun.
  [[nodiscard]] std::uint64_t begun() const noexcept { return begun_.load(std::memory_order_seq_cst); }

 private:
  std::atomic<std::uint64_t> begun_{0}, ended_{0};
};

}  // namespace refrain::replay
