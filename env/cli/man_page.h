// Manual pages, in the language of man(7), made of what the commands say of themselves.
#pragma once

#include <span>
#include <string>

#include "env/cli/command_descriptions.h"

namespace refrain::env {

/// refrain(1): all commands, and all settings. `version`: "0.1.0".
std::string man_page(std::span<const CommandDescription> commands, const std::string& version);
/// refrain-COMMAND(1).
std::string man_page(const CommandDescription& command, const std::string& version);

/// Text as it is, whatever characters are in it, for one or more lines of a page.
std::string man_text(const std::string& text);

}  // namespace refrain::env
