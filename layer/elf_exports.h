// What a loaded library exports.
#pragma once

#include <link.h>

#include <cstddef>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

namespace refrain::layer {

struct ExportedFunction {
  std::string_view name;  ///< in the library's own table
  void* address;
};

/// Calls `visit(dl_phdr_info)` for everything that is loaded until it returns true. What it throws, the caller gets:
/// an exception must not pass through the C library, which would keep its lock.
template <class Visit>
void visit_loaded_objects(Visit&& visit) {
  struct Work {
    Visit& visit;
    std::exception_ptr thrown;
  } work{visit, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) noexcept {
        auto& mine = *static_cast<Work*>(data);
        try {
          return mine.visit(static_cast<const dl_phdr_info&>(*info)) ? 1 : 0;
        } catch (...) {
          mine.thrown = std::current_exception();
          return 1;
        }
      },
      &work);
  if (work.thrown != nullptr) {
    std::rethrow_exception(work.thrown);
  }
}

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
