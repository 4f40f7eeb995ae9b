// Processes with rights that whoever started them has not: what the environment says is not to be trusted there, and so
// Refrain does nothing at all in them. Needs nothing but a C library, and no version of anything in it, for starters.
#pragma once

#include <sys/auxv.h>
#include <unistd.h>

// Not in every C library.
#pragma weak getauxval

namespace refrain::env {

/// `told`: what the kernel said when the process started (AT_SECURE: set-user-id, set-group-id, capabilities, a
/// security module); null: nothing, and then `other_ids` decides, which says whether the effective ids are not the real
/// ones.
constexpr bool is_secure(const unsigned long* told, bool other_ids) noexcept {
  return told != nullptr ? *told != 0 : other_ids;
}

/// Whether this process is one. Thread-safe; the same answer for the life of the process.
inline bool in_secure_process() noexcept {
  if (&getauxval != nullptr) {
    const unsigned long told = getauxval(AT_SECURE);
    return is_secure(&told, false);
  }
  return is_secure(nullptr, getuid() != geteuid() || getgid() != getegid());
}

}  // namespace refrain::env
