// The part of the environment that puts libraries into processes with the dynamic linker's help: LD_PRELOAD
// and LD_AUDIT, lists of files. (child_environment.h does the same for OpenCL's list of layers.)
//
// What a variable was before is kept in REFRAIN_SAVED_<variable>, if it was set.
#pragma once

#include <string>
#include <vector>

#include "env/child_environment.h"

namespace refrain::env {

/// What puts `library` (absolute path) in front of the list in `variable` ("LD_PRELOAD" or "LD_AUDIT"). Changes
/// nothing if it is in there already. Throws std::runtime_error if the path has a character that separates
/// entries.
std::vector<Variable> activate_library(const char* variable, const std::string& library, const Lookup& lookup);

/// What takes `libraries` out of the list again, and leaves everything else as it was.
std::vector<Variable> remove_libraries(const char* variable, const std::vector<std::string>& libraries,
                                       const Lookup& lookup);

/// Called by every layer, once, when it starts: unless children are followed it takes itself, what
/// lies beside it as the audit module, and the library of layer/exit_hooks.cpp out of the environment. Never throws.
void restore_preload(const Settings& settings) noexcept;

/// File name of the audit module, which lies beside the preloaded library.
inline constexpr const char* kAuditFile = "librefrain_audit.so";

}  // namespace refrain::env
