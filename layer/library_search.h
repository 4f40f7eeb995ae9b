// Where a vendor's real library is. Opens no library, and needs no vendor header: `refrain run` and `refrain doctor`
// ask, too.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::layer {

struct LibrarySearch {
  std::string given;                     ///< looked at alone if it is not empty (a setting)
  std::string file;                      ///< name of the file, e.g. "libcuda.so.1"
  std::string_view own_marker;           ///< symbol that Refrain's own library of that name exports; empty: it has none
  std::span<const char* const> folders;  ///< the usual ones, searched last
};

/// Files that may be the library, best first: in the folders of LD_LIBRARY_PATH, from the dynamic linker's cache, and
/// in the usual folders. What is no library for this processor, and what is a copy of Refrain's own, is left out.
/// Absolute paths.
std::vector<std::string> find_libraries(const LibrarySearch& search);

/// Whether `path` is a shared library for this processor.
bool is_library(const std::string& path);

/// Whether the library at `path` defines the dynamic symbol `symbol`.
bool exports(const std::string& path, std::string_view symbol);

enum class DynamicName { kSoname, kNeeded };
/// The names of this kind in the dynamic section of the program or library at `path`; none if it is neither.
std::vector<std::string> dynamic_names(const std::string& path, DynamicName kind);

/// Paths that the dynamic linker's cache (content of /etc/ld.so.cache) has for `name`. Trusts nothing in it.
std::vector<std::string> search_linker_cache(std::string_view cache, std::string_view name);

}  // namespace refrain::layer
