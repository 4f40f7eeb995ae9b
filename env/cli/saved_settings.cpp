#include "env/cli/saved_settings.h"

#include <algorithm>

namespace refrain::env {
namespace {

// Entries NAME or NAME=VALUE stand between these; what a value has of them, and what a shell has a meaning for where
// somebody forgets to quote it, is written as %XX.
constexpr char kBetween = ':';
constexpr std::string_view kDigits = "0123456789ABCDEF";

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("_-+./,").find(c) != std::string_view::npos;
}

std::string encoded(std::string_view value) {
  std::string result;
  for (const char c : value) {
    if (is_plain(c)) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      ((result += '%') += kDigits[byte / 16]) += kDigits[byte % 16];
    }
  }
  return result;
}

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto high = i + 2 < text.size() && text[i] == '%' ? kDigits.find(text[i + 1]) : std::string_view::npos;
    const auto low = high != std::string_view::npos ? kDigits.find(text[i + 2]) : std::string_view::npos;
    if (low != std::string_view::npos) {
      result += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

SavedSettings::SavedSettings(std::string_view text) {
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(kBetween));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("REFRAIN_") || !std::all_of(name.begin(), name.end(), is_plain)) continue;
    keep(std::string(name),
         name.size() == entry.size() ? std::nullopt : std::optional(decoded(entry.substr(name.size() + 1))));
  }
}

std::string SavedSettings::text() const {
  std::string result;
  for (const auto& [name, value] : before_) {
    if (!result.empty()) result += kBetween;
    result += value ? name + "=" + encoded(*value) : name;
  }
  return result;
}

std::vector<Variable> SavedSettings::restored() const {
  std::vector<Variable> changes;
  for (const auto& [name, value] : before_) changes.push_back({name, value});
  changes.push_back({kVariable, std::nullopt});
  return changes;
}

}  // namespace refrain::env
