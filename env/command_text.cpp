#include "env/command_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace refrain::env {
namespace {

constexpr std::string_view kHidden = "***";

bool is_secret_part(std::string_view part, bool last) {
  static constexpr std::array<std::string_view, 8> ends = {"password", "passwd", "passphrase", "secret",
                                                           "token",    "apikey", "accesskey",  "privatekey"};
  static constexpr std::array<std::string_view, 8> whole = {"pass",   "pwd",    "auth",       "authorization",
                                                            "bearer", "cookie", "credential", "credentials"};
  return std::ranges::any_of(ends, [&](std::string_view end) { return part.ends_with(end); }) ||
         std::ranges::find(whole, part) != whole.end() || (last && part == "key");
}

bool names_secret(std::string_view name) {
  std::string part;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const bool end = i == name.size();
    const char letter = end ? '-' : name[i];
    if (letter != '-' && letter != '_' && letter != '.') {
      if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {  // quotes of a shell are no part of it
        part += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      }
      continue;
    }
    if (is_secret_part(part, end)) {
      return true;
    }
    part.clear();
  }
  return false;
}

/// Where the secret of scheme://user:secret@host is; nothing if there is none.
std::size_t secret_of_address(std::string_view piece, std::size_t* end) {
  const std::size_t scheme = piece.find("://");
  if (scheme == std::string_view::npos) {
    return std::string_view::npos;
  }
  const std::string_view rest = piece.substr(scheme + 3);
  const std::size_t host = rest.substr(0, rest.find_first_of("/?#")).rfind('@');
  const std::size_t colon = rest.find(':');
  if (host == std::string_view::npos || colon >= host) {
    return std::string_view::npos;
  }
  *end = scheme + 3 + host;
  return scheme + 3 + colon + 1;
}

/// One word of the command line, which may be a line of a shell. `next` is set if the next word is the secret.
std::string without_secrets(std::string_view word, bool* next) {
  std::string result;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = std::min(word.find_first_of(" \t\n", at), word.size());
    const std::string_view piece = word.substr(at, end - at);
    const std::size_t mark = piece.find_first_of("=:");
    const bool names = names_secret(piece.substr(0, mark));
    if (names && mark != std::string_view::npos) {
      result += piece.substr(0, mark + 1);
      *next = piece[mark] == ':' && at + mark + 1 == word.size();
      return result + std::string(*next ? "" : kHidden);
    }
    if (names && piece.starts_with('-')) {
      result += piece;
      *next = end == word.size();
      return *next ? result : result + " " + std::string(kHidden);
    }
    std::size_t secret_end = 0;
    if (const std::size_t secret = secret_of_address(piece, &secret_end); secret != std::string_view::npos) {
      result += std::string(piece.substr(0, secret)) + std::string(kHidden) + std::string(piece.substr(secret_end));
    } else {
      result += piece;
    }
    at = end;
    if (at < word.size()) {
      result += word[at++];
    }
  }
  return result;
}

}  // namespace

std::string command_text(std::span<const std::string> words, CommandChoice how) {
  std::string text;
  if (how == CommandChoice::kNone) {
    return text;
  }
  bool secret = false;
  for (const std::string& word :
       how == CommandChoice::kProgram ? words.first(std::min<std::size_t>(1, words.size())) : words) {
    text += text.empty() ? "" : " ";
    if (secret) {
      secret = false;
      text += kHidden;
    } else {
      text += without_secrets(word, &secret);
    }
  }
  return text;
}

}  // namespace refrain::env
