// Where the real libamdhip64.so is, and which. Opens no library, and needs no vendor header: `refrain run` and
// `refrain doctor` ask, too.
#pragma once

#include <string>
#include <vector>

#include "layer/library_search.h"

namespace refrain::layer::hip {

/// The major versions there is a shim for, newest first.
inline constexpr int kMajors[] = {7, 6, 5};

/// "libamdhip64.so.5".
[[nodiscard]] std::string soname_of(int major);

/// Files that may be the library with this name, best first: `given` alone if it is not empty (setting hip_library),
/// else where find_libraries() looks. Never Refrain's own.
std::vector<std::string> find_hip_libraries(const std::string& given, const std::string& soname);

struct FoundLibrary {
  int major = 0;  ///< 0: none was found
  std::string path;
};
/// The library that a program at `program` (may be empty) will use: of the version that the program is linked with,
/// else the newest there is.
FoundLibrary choose_library(const std::string& given, const std::string& program);

/// Major version in the DT_SONAME of the library at `path`; 0: it is no libamdhip64.so that there is a shim for.
[[nodiscard]] int major_of_library(const std::string& path);

/// Major version of the libamdhip64.so that the program or library at `path` is linked with; 0: with none.
[[nodiscard]] int major_needed_by(const std::string& path);

}  // namespace refrain::layer::hip
