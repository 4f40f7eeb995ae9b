#include "env/escape.h"

#include <algorithm>
#include <cstdio>

namespace refrain::env {
namespace {

struct Symbol {
  std::size_t bytes = 1;
  std::uint32_t code = 0;
  bool valid = false;  ///< UTF-8
};

Symbol symbol_at(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return {1, first, true};
  }
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes > text.size()) {
    return {};
  }
  std::uint32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return {};
    }
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < smallest[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    return {};
  }
  return {bytes, code, true};
}

/// Control characters, line separators, and what changes the direction of text or is not seen at all.
bool is_unsafe(std::uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0xAD || code == 0x61C ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE0FFF);
}

void append_number(std::string& to, const char* format, std::uint32_t number) {
  char text[16];
  std::snprintf(text, sizeof(text), format, number);
  to += text;
}

void append_unsafe(std::string& to, std::uint32_t code, EscapeFor form) {
  if (form == EscapeFor::kJson) {
    if (code > 0xFFFF) {
      append_number(to, "\\u%04x", 0xD800 + ((code - 0x10000) >> 10U));
      code = 0xDC00 + ((code - 0x10000) & 0x3FFU);
    }
    append_number(to, "\\u%04x", code);
    return;
  }
  to += form == EscapeFor::kDot ? "\\\\" : "\\";
  switch (code) {
    case '\n': to += 'n'; return;
    case '\r': to += 'r'; return;
    case '\t': to += 't'; return;
    default: append_number(to, code < 0x100 ? "x%02x" : "u%04x", code);
  }
}

}  // namespace

std::string escaped(std::string_view text, EscapeFor form) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Symbol symbol = symbol_at(text);
    if (!symbol.valid) {
      if (form == EscapeFor::kJson) {
        result += "\\ufffd";
      } else {
        result += form == EscapeFor::kDot ? "\\\\" : "\\";
        append_number(result, "x%02x", static_cast<unsigned char>(text[0]));
      }
    } else if (is_unsafe(symbol.code)) {
      append_unsafe(result, symbol.code, form);
    } else {
      if (form != EscapeFor::kTerminal && (symbol.code == '"' || symbol.code == '\\')) {
        result += '\\';
      }
      result += text.substr(0, symbol.bytes);
    }
    text.remove_prefix(symbol.bytes);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return std::string(text);
  }
  constexpr std::size_t kMark = 32;  // "…[+18446744073709551615 bytes]"
  std::size_t kept = limit - std::min(limit, kMark);
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0U) == 0x80U && limit - kept < kMark + 4) {
    --kept;
  }
  return std::string(text.substr(0, kept)) + "…[+" + std::to_string(text.size() - kept) + " bytes]";
}

}  // namespace refrain::env
