// What `refrain --version` says: version, commit, and what this build has.
#pragma once

#include <string>

namespace refrain::env {

/// "refrain VERSION (COMMIT)" and a line for each feature.
std::string version_text();
/// The same as a JSON object.
std::string version_json();

}  // namespace refrain::env
