// The last operations and host calls of one lane, as 64-bit values in a ring, with a hash of the newest
// six. Not thread-safe.
#pragma once

#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "capture/operation.h"

namespace refrain::replay {

using capture::Token;

/// Zeroed memory that costs nothing until it is touched: lanes that submit little stay small. From the kernel, as
/// calloc() clears what was used before, which would take most of the time of a thread that lives for a moment.
template <typename T>
class LazyArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  LazyArray() = default;
  explicit LazyArray(std::size_t count) : count_(count) {
    void* const memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::bad_alloc();
    }
    data_ = {static_cast<T*>(memory), Unmap{bytes()}};
  }
  T& operator[](std::size_t index) noexcept { return data_.get()[index]; }
  const T& operator[](std::size_t index) const noexcept { return data_.get()[index]; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t bytes() const noexcept { return count_ * sizeof(T); }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(T* memory) const noexcept { munmap(memory, bytes); }
  };
  std::unique_ptr<T, Unmap> data_;
  std::size_t count_ = 0;
};

/// Polynomial hash over values, modulo 2^64. Only ever used to find candidates, which are then compared
/// exactly: this hash is blind to some pairs of (Thue-Morse) sequences, whatever the base.
inline constexpr std::uint64_t kHashBase = 0x9E3779B97F4A7C15ULL;  // format

[[nodiscard]] constexpr std::uint64_t hash_base_power(std::uint32_t exponent) noexcept {
  std::uint64_t power = 1;
  for (std::uint32_t i = 0; i < exponent; ++i) {
    power *= kHashBase;
  }
  return power;
}

/// What stands in the history for an operation's token, or between two stretches.
enum class Cut : std::uint8_t {
  kNone,    ///< an operation that may be held
  kBehind,  ///< the same, and the stretch ends behind it: the program may wait for it without a call
  kQuiet,   ///< nobody waits for what came before
  kWait,    ///< the program may wait for what came before
};

class History {
 public:
  /// Length of the sequences by which earlier occurrences are found.
  static constexpr std::uint32_t kGram = 6;  // format: of what is hashed

  /// `capacity` is rounded up to a power of two.
  explicit History(std::uint32_t capacity)
      : mask_(std::bit_ceil(capacity < 64 ? 64U : capacity) - 1), values_(mask_ + 1), cuts_(mask_ + 1) {}

  void push(Token value, Cut cut) noexcept {
    constexpr std::uint64_t kOldest = hash_base_power(kGram);  // format
    gram_ = gram_ * kHashBase + value - values_[(size_ - kGram) & mask_] * kOldest;
    values_[size_ & mask_] = value;
    cuts_[size_ & mask_] = cut;
    highest_ = ++size_ > highest_ ? size_ : highest_;
  }

  /// Forgets the newest values: `size` remain.
  void truncate(std::uint64_t size) noexcept {
    size_ = size;
    gram_ = 0;
    for (std::uint64_t back = kGram; back != 0; --back) {
      gram_ = gram_ * kHashBase + (size >= back ? at(size - back) : 0);
    }
  }

  /// Position of the next value; the newest is at size() - 1.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return mask_ + 1; }
  /// First position still remembered.
  [[nodiscard]] std::uint64_t oldest() const noexcept { return highest_ > mask_ ? highest_ - mask_ - 1 : 0; }
  [[nodiscard]] Token at(std::uint64_t position) const noexcept { return values_[position & mask_]; }
  [[nodiscard]] Cut cut_at(std::uint64_t position) const noexcept { return cuts_[position & mask_]; }
  [[nodiscard]] bool is_cut(std::uint64_t position) const noexcept { return cut_at(position) != Cut::kNone; }
  /// Hash of the newest kGram values.
  [[nodiscard]] std::uint64_t gram() const noexcept { return gram_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return values_.bytes() + cuts_.bytes(); }

 private:
  std::uint64_t mask_;
  std::uint64_t size_ = 0;
  std::uint64_t highest_ = 0;  // what was overwritten stays so when values are taken back
  std::uint64_t gram_ = 0;
  LazyArray<Token> values_;
  LazyArray<Cut> cuts_;
};

}  // namespace refrain::replay
