// What kernels of a code image may change that no argument leads to: the image's variables, the device's heap, what is
// printed. The driver tells none of it, but names a variable's address to who knows its name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/code_image.h"

namespace refrain::backends {

struct CodeContents {
  /// Of variables that kernels may write, each once, sorted.
  std::vector<std::string> variables;
  /// Kernels (and functions) that print, or use the device's heap: memory that has no name. Sorted.
  std::vector<std::string> printing_or_allocating;
  /// They are not known. Null, or why; static lifetime.
  const char* unknown = nullptr;
};

/// `majors`: of the architectures that the program's devices have, such as 9. Code for others is left out; where there
/// is none for them, PTX counts. Headers that contradict themselves make it unknown. May throw std::bad_alloc.
[[nodiscard]] CodeContents contents_of(const CodeImage& image, std::span<const int> majors);

}  // namespace refrain::backends
