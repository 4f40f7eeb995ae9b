// What kernels of a module may change that no argument leads to: the module's variables, and what they print. The
// driver tells neither, but names a variable's address to who knows its name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace refrain::backends {

struct ModuleContents {
  /// False: it is no SPIR-V, or contradicts itself, and the rest says nothing.
  bool known = false;
  /// Of variables that kernels may write, as the driver knows them.
  std::vector<std::string> variables;
  /// There are others, which the driver does not know by a name.
  bool unnamed_variables = false;
  bool prints = false;
};

/// Reads SPIR-V. May throw std::bad_alloc.
[[nodiscard]] ModuleContents contents_of_spirv(std::span<const std::byte> module);

}  // namespace refrain::backends
