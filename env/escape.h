// Text from elsewhere (kernel names, command lines, paths, error messages) made safe to show: a terminal obeys what is
// in it, and neither JSON nor dot may be left by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace refrain::env {

enum class EscapeFor : std::uint8_t {
  kTerminal,  ///< one line of plain text
  kJson,      ///< between the quotes of a JSON string
  kDot,       ///< between the quotes of a dot string
};

/// `text` on one line and without anything that a terminal obeys: control characters (ESC, CR, newlines, C1), marks
/// that change the direction of text, and what is not UTF-8 are written \x1b, \u202e (JSON: bytes that are not UTF-8
/// become U+FFFD). Printable UTF-8 stays as it is. May throw std::bad_alloc. Thread-safe.
std::string escaped(std::string_view text, EscapeFor form = EscapeFor::kTerminal);

/// `text` if it has at most `limit` bytes; else its beginning and how much is missing ("…[+123 bytes]"), together at
/// most `limit` bytes (at least 32). No UTF-8 character is cut.
std::string shortened(std::string_view text, std::size_t limit);

}  // namespace refrain::env
