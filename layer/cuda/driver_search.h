// Where the real libcuda.so.1 is. Opens no library, and needs no vendor header: `refrain run` and
// `refrain doctor` ask, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refrain::layer::cuda {

inline constexpr const char* kDriverFile = "libcuda.so.1";

/// Files that may be the driver, best first: `given` alone if it is not empty (setting cuda_driver), else
/// libcuda.so.1 in the folders of LD_LIBRARY_PATH, from the dynamic linker's cache, and in the usual folders.
/// What is no library for this processor, and what is a copy of Refrain's own, is left out. Absolute paths.
std::vector<std::string> find_drivers(const std::string& given);

/// Whether `path` is a shared library for this processor.
bool is_library(const std::string& path);

/// Whether `path` is Refrain's own libcuda.so.1: this build or another.
bool is_refrain(const std::string& path);

/// Paths that the dynamic linker's cache (content of /etc/ld.so.cache) has for `name`. Trusts nothing in it.
std::vector<std::string> search_linker_cache(std::string_view cache, std::string_view name);

/// The name by which the shim gives `path` to dlopen(): the same file, in a way that the audit module leaves
/// alone (audit.cpp).
std::string unredirected(const std::string& path);

}  // namespace refrain::layer::cuda
