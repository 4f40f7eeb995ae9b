#include "backends/level_zero/module_build.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

#include "backends/spirv_contents.h"

namespace refrain::backends::level_zero {
namespace {

// Text is "constant ID=BYTES constant ID=BYTES flags=FLAGS", or the flags alone if it would begin otherwise.
constexpr std::string_view kConstant = "constant ";  // format
constexpr std::string_view kFlags = "flags=";        // format
constexpr char kDigits[] = "0123456789abcdef";

/// Takes `prefix` from the begin of `text`, if it is there.
bool take(std::string_view& text, std::string_view prefix) noexcept {
  const bool there = text.starts_with(prefix);
  text.remove_prefix(there ? prefix.size() : 0);
  return there;
}

/// "12=00ff " from the begin of `text`.
std::optional<ModuleBuild::Constant> take_constant(std::string_view& text) {
  ModuleBuild::Constant constant;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), constant.id);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!take(text, "=")) {
    return std::nullopt;
  }
  const std::string_view digits = text.substr(0, text.find(' '));
  text.remove_prefix(digits.size());
  if (digits.empty() || digits.size() % 2 != 0 || digits.size() > 2 * sizeof(std::uint64_t) || !take(text, " ")) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    std::uint8_t value = 0;
    const char* const last = digits.data() + i + 2;
    if (std::from_chars(digits.data() + i, last, value, 16).ptr != last) {
      return std::nullopt;
    }
    constant.value.push_back(std::byte{value});
  }
  return constant;
}

}  // namespace

std::optional<ModuleBuild> build_of(const ze_module_desc_t& description) {
  if (description.pNext != nullptr) {
    return std::nullopt;
  }
  ModuleBuild build;
  build.flags = description.pBuildFlags == nullptr ? "" : description.pBuildFlags;
  const ze_module_constants_t* const given = description.pConstants;
  if (given == nullptr || given->numConstants == 0 || description.format != ZE_MODULE_FORMAT_IL_SPIRV) {
    return build;
  }
  const ModuleContents contents =
      contents_of_spirv({reinterpret_cast<const std::byte*>(description.pInputModule), description.inputSize});
  for (std::uint32_t i = 0; i < given->numConstants; ++i) {
    const auto known = std::ranges::find(contents.constants, given->pConstantIds[i], &SpecializationConstant::id);
    if (known == contents.constants.end()) {
      return std::nullopt;
    }
    const auto* const value = static_cast<const std::byte*>(given->pConstantValues[i]);
    build.constants.push_back({known->id, {value, value + known->bytes}});
  }
  return build;
}

std::optional<capture::CodeKind> kind_of(ze_module_format_t format) noexcept {
  switch (format) {
    case ZE_MODULE_FORMAT_IL_SPIRV: return capture::CodeKind::kIntermediate;
    case ZE_MODULE_FORMAT_NATIVE: return capture::CodeKind::kBinary;
    default: return std::nullopt;
  }
}

std::string text_of(const ModuleBuild& build) {
  const std::string_view flags = build.flags;
  if (build.constants.empty() && !flags.starts_with(kConstant) && !flags.starts_with(kFlags)) {
    return build.flags;
  }
  std::string text;
  for (const ModuleBuild::Constant& constant : build.constants) {
    text.append(kConstant).append(std::to_string(constant.id)).append("=");
    for (const std::byte each : constant.value) {
      text += kDigits[std::to_integer<unsigned>(each) >> 4U];
      text += kDigits[std::to_integer<unsigned>(each) & 15U];
    }
    text += ' ';
  }
  return text.append(kFlags).append(flags);
}

std::optional<ModuleBuild> read_build(std::string_view text) {
  ModuleBuild build;
  bool plain = true;
  while (take(text, kConstant)) {
    std::optional<ModuleBuild::Constant> constant = take_constant(text);
    if (!constant) {
      return std::nullopt;
    }
    build.constants.push_back(std::move(*constant));
    plain = false;
  }
  if (!take(text, kFlags) && !plain) {
    return std::nullopt;
  }
  build.flags = text;
  return build;
}

}  // namespace refrain::backends::level_zero
