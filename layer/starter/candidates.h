// Where the dynamic linker would look for a library. Needs nothing but a C library, for starters.
#pragma once

#include <cstddef>

namespace refrain::layer {

/// Called with the path of a file that may be there or not; true: no more.
struct Visitor {
  bool (*visit)(const char* path, void* data);
  void* data;
  bool operator()(const char* path) const { return visit(path, data); }
};

/// Visits, best first, `file` in the folders of LD_LIBRARY_PATH (but in secure processes), what the dynamic linker's
/// cache has for it, and the file in `folders`. True if the visitor wanted no more.
bool visit_candidates(const char* file, const char* const* folders, std::size_t folder_count, const Visitor& visitor);

/// The paths that the dynamic linker's cache (`bytes` of content of /etc/ld.so.cache) has for `name`. Trusts nothing in
/// it.
bool visit_linker_cache(const char* cache, std::size_t bytes, const char* name, const Visitor& visitor);

}  // namespace refrain::layer
