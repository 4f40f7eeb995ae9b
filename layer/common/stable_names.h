// What stands in tokens for what has no number of its own: the same in every run of a program that does the same, so
// that a run finds in its profile what another one has learnt.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "layer/common/object_id.h"
#include "replay/queue_slot.h"

namespace refrain::layer {

/// Stands somewhere in the library: where the rest of it is, seen from here, is the same wherever it is loaded.
inline constexpr char kLibraryOrigin = 0;

/// For an entry point: a number that no other one has.
[[nodiscard]] inline Token stable_name(const replay::EntryPoint& entry_point) noexcept {
  return reinterpret_cast<std::uint64_t>(&entry_point) - reinterpret_cast<std::uint64_t>(&kLibraryOrigin);
}

/// Numbers of addresses and handles in the order in which they were first asked for: both are others in each run.
/// Those for which there is no place stand for themselves. Thread-safe, without a lock.
class FirstUses {
 public:
  [[nodiscard]] Token number_of(std::uint64_t address) noexcept {
    std::uint64_t place = capture::mix(0, address);
    for (std::uint64_t tried = 0; tried < kProbes; ++tried, ++place) {
      Entry& entry = entries_[place % entries_.size()];
      std::uint64_t known = entry.address.load(std::memory_order_acquire);
      if (known == 0 && entry.address.compare_exchange_strong(known, address, std::memory_order_acq_rel)) {
        const Token number = numbers_.fetch_add(1, std::memory_order_relaxed) + 1;
        entry.number.store(number, std::memory_order_release);
        return number;
      }
      if (known == address) {
        const Token number = entry.number.load(std::memory_order_acquire);
        return number != 0 ? number : address;  // another thread is just giving it one
      }
    }
    return address;
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> address{0};
    std::atomic<Token> number{0};
  };
  static constexpr std::uint64_t kProbes = 8;
  std::array<Entry, 1024> entries_{};
  std::atomic<Token> numbers_{0};
};

}  // namespace refrain::layer
