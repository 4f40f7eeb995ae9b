// What a loaded library exports.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace refrain::layer {

struct ExportedFunction {
  std::string name;
  void* address;
};

/// The functions in the table of dynamic symbols of the library with this dlopen() handle. Read from memory,
/// so that neither the file nor a library for reading it is needed: what is preloaded into every process of
/// an application should bring as little along as possible.
std::vector<ExportedFunction> exported_functions(void* library);

/// The segments of the library that `address` lies in; none if it lies in no library.
class Segments {
 public:
  enum class Kind { kAll, kExecutable };
  Segments(const void* address, Kind kind);
  /// Whether `bytes` from `address` on lie in one of them.
  [[nodiscard]] bool contains(const void* address, std::size_t bytes) const noexcept;
  /// From the first byte of all of them to the last; empty if there is none.
  [[nodiscard]] std::span<const std::byte> extent() const noexcept;

 private:
  struct Range {
    const char* begin;
    const char* end;
  };
  std::vector<Range> ranges_;
};

}  // namespace refrain::layer
