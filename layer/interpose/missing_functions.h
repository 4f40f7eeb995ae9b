// What calls get where there is no function to call.
#pragma once

#include <cstring>
#include <span>

namespace refrain::layer::interpose {

/// Reports `status`. Called with any arguments: the caller cleans up, so that it need not know them.
template <auto status>
decltype(status) report() noexcept {
  return status;
}

/// The same, and the number that is asked for is 0.
template <auto status>
decltype(status) report_no_number(int* number) noexcept {
  if (number != nullptr) {
    *number = 0;
  }
  return status;
}

struct NamedFunction {
  const char* name;
  void* function;
};

/// Of one library.
struct MissingFunctions {
  std::span<const NamedFunction> without_library;  ///< what calls get instead of `no_device`, by name
  std::span<const NamedFunction> without_errors;   ///< of functions that report none, with or without a library
  void* no_device;                                 ///< there is no library
  void* not_supported;                             ///< the library lacks the function
  void* not_ready;                                 ///< the call is made while the library is opened

  /// For a function that the library lacks.
  [[nodiscard]] void* lacking(const char* name) const noexcept {
    void* const named = find(without_errors, name);
    return named != nullptr ? named : not_supported;
  }
  /// For a function if there is no library. Null: for any.
  [[nodiscard]] void* no_library(const char* name) const noexcept {
    for (const std::span<const NamedFunction> functions : {without_library, without_errors}) {
      if (void* const named = find(functions, name); named != nullptr) {
        return named;
      }
    }
    return no_device;
  }

 private:
  static void* find(std::span<const NamedFunction> functions, const char* name) noexcept {
    for (const NamedFunction& each : functions) {
      if (name != nullptr && std::strcmp(name, each.name) == 0) {
        return each.function;
      }
    }
    return nullptr;
  }
};

}  // namespace refrain::layer::interpose
