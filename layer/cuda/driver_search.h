// Where the real libcuda.so.1 is. Opens no library, and needs no vendor header: `refrain run` and
// `refrain doctor` ask, too.
#pragma once

#include <string>
#include <vector>

#include "layer/library_search.h"

namespace refrain::layer::cuda {

/// Files that may be the driver, best first: `given` alone if it is not empty (setting cuda_driver), else where
/// find_libraries() looks. Never Refrain's own libcuda.so.1, of this build or another.
std::vector<std::string> find_drivers(const std::string& given);

/// The name by which the shim gives `path` to dlopen(): the same file, in a way that the audit module leaves
/// alone (audit.cpp).
std::string unredirected(const std::string& path);

}  // namespace refrain::layer::cuda
