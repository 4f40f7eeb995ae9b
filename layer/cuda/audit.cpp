// The audit module (LD_AUDIT, setting cuda_audit): sends whoever looks for libcuda.so by an absolute path,
// without the .1, or in a namespace of its own (dlmopen) to the library beside this one. That one takes care of
// the rest. What it can't catch is an absolute path given to dlmopen(): glibc asks nobody about that. Runs inside the
// dynamic linker, with a C library of its own: as little as possible happens here.

#include <link.h>

#include <cstdint>
#include <cstring>

#include "env/secure_process.h"
#include "layer/starter/c_library.h"

namespace {

char shim[4096];  // empty: there is none

bool ends_with(const char* text, const char* end) {
  const std::size_t length = std::strlen(text);
  const std::size_t wanted = std::strlen(end);
  return length >= wanted && std::strcmp(text + length - wanted, end) == 0;
}

bool is_driver(const char* name) {
  // By such a path our own library asks for the real one (unredirected() in driver_search.cpp).
  if (ends_with(name, "/./libcuda.so") || ends_with(name, "/./libcuda.so.1")) {
    return false;
  }
  return ends_with(name, "/libcuda.so") || ends_with(name, "/libcuda.so.1") || std::strcmp(name, "libcuda.so") == 0 ||
         std::strcmp(name, "libcuda.so.1") == 0;
}

/// The shim lies beside this file.
bool find_shim(const char* file) {
  constexpr char kShim[] = "librefrain_cuda.so";
  const char* slash = std::strrchr(file, '/');
  const std::size_t folder = slash == nullptr ? 0 : static_cast<std::size_t>(slash + 1 - file);
  if (folder != 0 && folder + sizeof(kShim) <= sizeof(shim)) {
    std::memcpy(shim, file, folder);
    std::memcpy(shim + folder, kShim, sizeof(kShim));
  }
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) unsigned int la_version(unsigned int version) {
  if (!refrain::env::in_secure_process()) {
    refrain::layer::starter::visit_loaded([](const char* path, const refrain::layer::DynamicSymbols& symbols) {
      return symbols.find("la_version") == reinterpret_cast<void*>(&la_version) && find_shim(path);
    });
  }
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

extern "C" __attribute__((visibility("default"))) char* la_objsearch(const char* name, std::uintptr_t*,
                                                                     unsigned int flag) {
  // Only what was asked for: the paths that the linker then tries in turn are left alone.
  if (flag == LA_SER_ORIG && shim[0] != '\0' && is_driver(name)) {
    return shim;
  }
  return const_cast<char*>(name);
}
