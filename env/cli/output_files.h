// The files that commands write: found wanting before anything starts, not after an hour.
#pragma once

#include <string>
#include <vector>

#include "env/child_environment.h"
#include "env/older_files.h"
#include "env/settings.h"

namespace refrain::env {

/// Throws UsageError if a file that `settings` name for a run of `program` (its path, or nothing) can't be written,
/// would take the place of something that Refrain did not write, or is something that the run reads or another one that
/// it writes.
void check_output_files(const Settings& settings, const std::string& program);

/// Older captures and reports that the options of this very run name (`given`), of which its own may take the place.
/// What is named otherwise stays: a run inside another one may not take away what that one wrote. Throws UsageError.
OlderFiles older_files(const Settings& settings, const std::vector<Variable>& given);

/// Throws UsageError if `output`, which `option` names, is one of the files that the command reads.
void refuse_input(const std::string& output, const std::string& option, const std::vector<std::string>& inputs);

}  // namespace refrain::env
