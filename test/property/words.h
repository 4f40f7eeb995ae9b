// What a program computes with: words of memory, and hashes of what came of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "test/property/program.h"

namespace property {

inline constexpr std::size_t kBytes = kWords * sizeof(Word);

inline void mix_into(std::uint64_t* hash, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    *hash = (*hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3ULL;  // FNV-1a
  }
}
inline void mix_into(std::uint64_t* hash, std::uint64_t value) {
  *hash = (*hash ^ value) * 0x100000001B3ULL;
}

/// The program's own pageable memory, which it changes as soon as it may.
using Words = std::array<Word, kWords>;
inline Words words_of(Word seed) {
  Words words;
  for (Word& word : words) {
    word = seed++;
  }
  return words;
}

}  // namespace property
