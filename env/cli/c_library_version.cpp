#include "env/cli/c_library_version.h"

#include <elf.h>
#include <link.h>

#include <cstdio>
#include <cstring>

namespace refrain::env {
namespace {

bool is_newer(const CLibraryVersion& left, const CLibraryVersion& right) noexcept {
  return left.major != right.major ? left.major > right.major : left.minor > right.minor;
}

/// Where the dynamic section's entry points; null if there is none.
const char* entry(ElfW(Sxword) tag) noexcept {
  const ElfW(Addr) base = _r_debug.r_map == nullptr ? 0 : _r_debug.r_map->l_addr;
  for (const ElfW(Dyn)* each = _DYNAMIC; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != tag) continue;
    // Some of the entries are made addresses when the program is loaded; which ones depends on the C library.
    const ElfW(Addr) place = each->d_un.d_ptr < base ? base + each->d_un.d_ptr : each->d_un.d_ptr;
    return reinterpret_cast<const char*>(place);
  }
  return nullptr;
}

}  // namespace

CLibraryVersion parse_version_name(const char* name) noexcept {
  CLibraryVersion version;
  const bool whole = std::sscanf(name, "GLIBC_%d.%d", &version.major, &version.minor) == 2;
  return whole ? version : CLibraryVersion();
}

CLibraryVersion newest_needed_version() noexcept {
  CLibraryVersion newest;
  const char* file = entry(DT_VERNEED);
  const char* const names = entry(DT_STRTAB);
  while (file != nullptr && names != nullptr) {
    ElfW(Verneed) needed;
    std::memcpy(&needed, file, sizeof needed);
    const char* place = file + needed.vn_aux;
    for (unsigned left = needed.vn_cnt; left != 0; --left) {
      ElfW(Vernaux) one;
      std::memcpy(&one, place, sizeof one);
      const CLibraryVersion version = parse_version_name(names + one.vna_name);
      if (is_newer(version, newest)) newest = version;
      place += one.vna_next;
    }
    file = needed.vn_next == 0 ? nullptr : file + needed.vn_next;
  }
  return newest;
}

}  // namespace refrain::env
