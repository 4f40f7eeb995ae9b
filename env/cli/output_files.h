// The files that a run will write: found wanting before the program starts, not after an hour.
#pragma once

#include <string>
#include <vector>

#include "env/child_environment.h"
#include "env/settings.h"

namespace refrain::env {

/// Throws UsageError if a file that `settings` name can't be written, or would take the place of something that Refrain
/// did not write.
void check_output_files(const Settings& settings);

/// Removes an older capture and report that the options of this very run name (`given`), so that the new ones get their
/// names. What is named otherwise stays: a run inside another one may not take away what that one wrote. Throws
/// UsageError.
void make_room(const Settings& settings, const std::vector<Variable>& given);

}  // namespace refrain::env
