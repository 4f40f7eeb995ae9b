// For which C library this program is linked.
#pragma once

namespace refrain::env {

struct CLibraryVersion {
  int major = 0;
  int minor = 0;
};

/// The newest version of glibc that a symbol of this program asks for: with an older one it does not start. 0.0 if it
/// asks for none.
CLibraryVersion newest_needed_version() noexcept;

/// Of the name of a version, "GLIBC_2.34"; 0.0 if it is another name.
CLibraryVersion parse_version_name(const char* name) noexcept;

}  // namespace refrain::env
