// What the driver does not tell of a module in SPIR-V. What its kernels may change that no argument leads to:
// variables, whose addresses it names to who knows their names, and what they print. How large its specialization
// constants are, which programs give without their sizes. And which parameters of kernels are handles, that drivers
// follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace refrain::backends {

struct SpecializationConstant {
  std::uint32_t id = 0;
  std::size_t bytes = 0;
  bool operator==(const SpecializationConstant&) const = default;
};

struct ModuleContents {
  /// False: it is no SPIR-V, or contradicts itself, and the rest says nothing.
  bool known = false;
  /// Of variables that kernels may write, as the driver knows them.
  std::vector<std::string> variables;
  /// There are others, which the driver does not know by a name.
  bool unnamed_variables = false;
  bool prints = false;
  /// Those of a type whose size is known.
  std::vector<SpecializationConstant> constants;
  /// Of each kernel by its name: which of its parameters is an image or a sampler.
  std::unordered_map<std::string, std::vector<bool>> handles;
};

/// Reads SPIR-V. May throw std::bad_alloc.
[[nodiscard]] ModuleContents contents_of_spirv(std::span<const std::byte> module);

}  // namespace refrain::backends
