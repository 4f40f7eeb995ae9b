// The functions of the C library that a starter uses. Without versions, and weak where an older C library has them
// elsewhere: the dynamic linker refuses a process that something in it can't be found for.
#pragma once

#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "layer/elf_symbols.h"

namespace refrain::layer::starter {

/// dlopen() with RTLD_NOW, for good; null, and then why.
void* open_library(const char* path, const char** why) noexcept;

/// Calls `visit` with each loaded object's path and symbols until it returns true.
template <class Visit>
bool visit_loaded(Visit visit) noexcept {
  const auto look = [](dl_phdr_info* info, std::size_t, void* data) {
    const char* const path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    return (*static_cast<Visit*>(data))(path, DynamicSymbols(*info)) ? 1 : 0;
  };
  return dl_iterate_phdr(look, &visit) != 0;
}

/// A text of limited length; what is too much is cut off.
template <std::size_t kBytes>
class Text {
 public:
  Text& operator+=(const char* more) noexcept {
    while (*more != '\0' && length_ + 1 < kBytes) {
      text_[length_++] = *more++;
    }
    text_[length_] = '\0';
    return *this;
  }
  /// Without the last '/' and what is behind it.
  void cut_last_part() noexcept {
    while (length_ > 0 && text_[--length_] != '/') {
    }
    text_[length_] = '\0';
  }
  [[nodiscard]] const char* c_str() const noexcept { return text_; }
  [[nodiscard]] std::size_t size() const noexcept { return length_; }

 private:
  char text_[kBytes] = {};
  std::size_t length_ = 0;
};

/// Writes one line to standard error.
void say(const char* first, const char* second, const char* third, const char* fourth, const char* fifth) noexcept;

}  // namespace refrain::layer::starter
