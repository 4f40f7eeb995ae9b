// Numbers as text that a page can hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace refrain::page {

inline std::string base64_of(std::span<const std::byte> bytes) {
  static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      three = three << 8U | (i + j < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j > bytes.size() ? '=' : kLetters[three >> (18 - 6 * j) & 63U];
    }
  }
  return text;
}

template <typename Number>
std::string base64_of(const std::vector<Number>& numbers) {
  return base64_of(std::as_bytes(std::span(numbers)));
}

}  // namespace refrain::page
