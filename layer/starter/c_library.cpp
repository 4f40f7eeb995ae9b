#include "layer/starter/c_library.h"

#include <dlfcn.h>

#include "env/without_signals.h"

// In the C library from glibc 2.34 on; before, in a library that programs may have or not.
#pragma weak dlopen
#pragma weak dlerror

namespace refrain::layer::starter {
namespace {

using Open = void* (*)(const char* path, int mode);

void* find_anywhere(const char* name) noexcept {
  void* found = nullptr;
  visit_loaded([&](const char*, const DynamicSymbols& symbols) {
    found = symbols.find(name);
    return found != nullptr;
  });
  return found;
}

/// Older C libraries open what has dlopen() for themselves with a function of their own.
Open find_open() noexcept {
  if (&dlopen != nullptr) {
    return &dlopen;
  }
  constexpr unsigned kAsDlopen = 0x80000000U;
  auto* found = reinterpret_cast<Open>(find_anywhere("dlopen"));
  if (auto* const inner = reinterpret_cast<Open>(find_anywhere("__libc_dlopen_mode"));
      found == nullptr && inner != nullptr && inner("libdl.so.2", static_cast<int>(RTLD_NOW | kAsDlopen)) != nullptr) {
    found = reinterpret_cast<Open>(find_anywhere("dlopen"));
  }
  return found;
}

}  // namespace

void* open_library(const char* path, const char** why) noexcept {
  const Open open = find_open();
  void* const opened = open == nullptr ? nullptr : open(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (opened == nullptr) {
    // Asking also clears it: the application's next dlerror() is its own.
    const char* const error = &dlerror == nullptr ? nullptr : dlerror();
    *why = error == nullptr ? "the dynamic linker does not open it" : error;
  }
  return opened;
}

void say(const char* first, const char* second, const char* third, const char* fourth, const char* fifth) noexcept {
  Text<2048> line;
  line += "[refrain] error: ";
  line += first;
  line += second;
  line += third;
  line += fourth;
  line += fifth;
  line += "\n";
  const env::WithoutSignals guard;
  if (write(STDERR_FILENO, line.c_str(), line.size()) < 0) {
    // Nobody listens.
  }
}

}  // namespace refrain::layer::starter
