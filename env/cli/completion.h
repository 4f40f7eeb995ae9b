// Completion of `refrain` in shells: scripts that know the commands, their options and the words that these take.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "env/cli/command_descriptions.h"

namespace refrain::env {

/// The shells that there is a completion for.
std::vector<std::string> completed_shells();

/// The script for one of them; empty for another shell.
std::string completion(const std::string& shell, std::span<const CommandDescription> commands);

}  // namespace refrain::env
