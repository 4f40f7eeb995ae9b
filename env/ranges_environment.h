// The variables by which NVTX and ITT, in a program or its libraries, find who wants to know of their ranges: the
// library of layer/program_ranges.cpp, which lies among what is preloaded. A tool that they name already keeps its
// place. (roctx needs none.)
#pragma once

#include <string>
#include <vector>

#include "env/child_environment.h"

namespace refrain::env {

/// Whether programs' ranges are to be told as regions: as the setting says; by itself where the user looks at what the
/// program does. Programs that ask whether anybody listens make ranges for each small thing then, which costs.
[[nodiscard]] bool wants_ranges(const Settings& settings) noexcept;

/// What has programs tell `library` (absolute path).
std::vector<Variable> activate_ranges(const std::string& library, const Lookup& lookup);

/// What takes a library of this file name out again; nothing else is changed.
std::vector<Variable> remove_ranges(const Lookup& lookup);

/// Whether the value of such a variable names our library, and not a tool.
[[nodiscard]] bool names_own_ranges(const char* value) noexcept;

}  // namespace refrain::env
