// The part of the environment that puts libraries into processes with the dynamic linker's help: LD_PRELOAD
// and LD_AUDIT, lists of files. (child_environment.h does the same for OpenCL's list of layers.)
//
// What a variable was before is kept in REFRAIN_SAVED_<variable>, if it was set.
#pragma once

#include <string>
#include <vector>

#include "env/child_environment.h"

namespace refrain::env {

/// Where in a list of files, or of folders in which they are looked for.
enum class Place : bool { kLast, kFirst };

/// What puts `library` (absolute path) behind everything else in the list in `variable` ("LD_PRELOAD" or "LD_AUDIT"):
/// what others preload for a purpose of theirs is called by the program, and finds us as the next library. Changes
/// nothing if there is only what lies beside it behind it already. Throws std::runtime_error if the path has a
/// character that separates entries. What is `in_front` comes to stand in front of it as well. Of folders
/// ("LD_LIBRARY_PATH") the first one counts: there it is to be put first.
std::vector<Variable> activate_library(const char* variable, const std::string& library, const Lookup& lookup,
                                       const std::vector<std::string>& in_front = {}, Place place = Place::kLast);

/// What takes `libraries` out of the list again, and leaves everything else as it was.
std::vector<Variable> remove_libraries(const char* variable, const std::vector<std::string>& libraries,
                                       const Lookup& lookup);

/// The entries of the list, in order.
std::vector<std::string> list_entries(const char* variable, const std::string& list);

/// Called by every layer, once, when it starts: unless children are followed it takes the library of
/// layer/exit_hooks.cpp out of the environment, wherever it is named there, and, with the audit module, which lies
/// beside it, what is `preloaded` and had the layer opened, if anything was. Never throws.
void restore_preload(const Settings& settings, const std::string& preloaded = {}) noexcept;

/// File name of the audit module, which lies beside the preloaded library.
inline constexpr const char* kAuditFile = "librefrain_audit.so";

}  // namespace refrain::env
