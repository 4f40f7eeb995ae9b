// How a program had a module built: what captures hold of it beside the code, so that it can be built again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/level_zero/level_zero_headers.h"
#include "capture/recorder.h"

namespace refrain::backends::level_zero {

struct ModuleBuild {
  struct Constant {
    std::uint32_t id = 0;
    std::vector<std::byte> value;
    bool operator==(const Constant&) const = default;
  };
  std::string flags;
  std::vector<Constant> constants;  ///< specialization constants of SPIR-V
  bool operator==(const ModuleBuild&) const = default;
};

/// What the program asked for. Nothing if that cannot be asked for again: the description is longer (more modules,
/// say), or a constant's size is not known. May throw std::bad_alloc.
[[nodiscard]] std::optional<ModuleBuild> build_of(const ze_module_desc_t& description);
/// The code's kind; nothing: it is of a format that is not known here.
[[nodiscard]] std::optional<capture::CodeKind> kind_of(ze_module_format_t format) noexcept;

/// As captures have it (FunctionInfo::build_options). Mostly it is the flags alone. Both may throw std::bad_alloc.
[[nodiscard]] std::string text_of(const ModuleBuild& build);
/// Nothing if the text is damaged. Text may come from anywhere.
[[nodiscard]] std::optional<ModuleBuild> read_build(std::string_view text);

}  // namespace refrain::backends::level_zero
