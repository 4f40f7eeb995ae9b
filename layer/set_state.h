// What setters have set.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "capture/operation.h"

namespace refrain::layer {

/// A value that was set. Empty if it cannot be compared, or may differ from what the call asked for.
using SetValue = std::optional<std::uint64_t>;

/// Everything that was set for one object, or for a group of them, as one number. The same values always give the same
/// number, so that graphs are found again where a program alternates between values. 0: nothing was set. Not
/// thread-safe.
class SetState {
 public:
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_set(std::uint64_t what, std::uint64_t value) const noexcept {
    const auto found = values_.find(what);
    return found != values_.end() && found->second.known && found->second.value == value;
  }
  /// May throw std::bad_alloc.
  void set(std::uint64_t what, SetValue value) {
    Value& place = values_[what];
    number_ ^= place.hash;
    place.known = value.has_value();
    place.value = value.has_value() ? *value : ++unknown_;
    place.hash = capture::mix(capture::mix(what, place.value), place.known ? 1 : 2);
    number_ ^= place.hash;
  }
  /// What was set is not known any more.
  void renew() noexcept {
    values_.clear();
    number_ = capture::mix(number_, ++unknown_);
  }

 private:
  struct Value {
    std::uint64_t value = 0, hash = 0;
    bool known = false;
  };
  std::unordered_map<std::uint64_t, Value> values_;
  std::uint64_t number_ = 0;
  static inline std::atomic<std::uint64_t> unknown_{0};
};

/// A small cache of what is set, read without a lock: libraries set the same values before each launch.
class FrequentSettings {
 public:
  [[nodiscard]] bool known(std::uint64_t what, std::uint64_t value) const noexcept {
    return words_[what % words_.size()].load(std::memory_order_seq_cst) == word(what, value);
  }
  void keep(std::uint64_t what, std::uint64_t value) noexcept {
    words_[what % words_.size()].store(word(what, value), std::memory_order_seq_cst);
  }
  /// Before anything is set to something else.
  void clear() noexcept {
    for (auto& any : words_) {
      any.store(0, std::memory_order_seq_cst);
    }
  }

 private:
  static std::uint64_t word(std::uint64_t what, std::uint64_t value) noexcept { return capture::mix(what, value) | 1U; }
  std::array<std::atomic<std::uint64_t>, 256> words_{};
};

}  // namespace refrain::layer
