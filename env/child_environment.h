// The environment that switches Refrain on: what `refrain run` sets, and what the layer puts right once it is
// loaded, so that the programs that the application starts see either all of it or none of it.
//
// ocl-icd cuts OPENCL_LAYERS at its first ':' in the environment itself, so that children inherit a list of
// one layer. `run` therefore keeps the whole list in REFRAIN_OPENCL_LAYERS, and what was there before in
// REFRAIN_SAVED_OPENCL_LAYERS (absent if the variable was not set).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "env/settings.h"

namespace refrain::env {

/// One change of an environment; without a value the variable is removed.
struct Variable {
  std::string name;
  std::optional<std::string> value;
};

/// Looks up a variable: `getenv`, or a stand-in for it.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Looks up in the environment of this process; in one with rights that its parent has not there is none.
std::optional<std::string> process_variable(const std::string& name);

/// What puts the OpenCL layer `layer` (absolute path) behind the layers that are named already. The last one
/// is the outermost: it sees the application's calls first. Naming a layer twice would load it twice, so a
/// list that has it is left as it is.
std::vector<Variable> activate_opencl(const std::string& layer, const Lookup& lookup);

/// What the layer `layer` has to change once it is loaded: with `follow` the whole list is put back, without
/// it the layer takes itself out. Changes nothing that the application has set itself.
std::vector<Variable> repair_opencl(const std::string& layer, bool follow, const Lookup& lookup);

/// Whether both paths lead to one file, or are equal.
bool same_file(const std::string& left, const std::string& right);

/// Makes the changes in this process. Not safe while another thread uses the environment to write.
void apply(const std::vector<Variable>& changes);

/// Called by the layer, once, when it is loaded, after load_settings(). Existing variables are overwritten
/// in place, so that threads that read the environment meanwhile are not disturbed. Never throws.
void restore_environment(const Settings& settings) noexcept;

/// The same for a caller that has no settings at hand: reads them.
void restore_environment() noexcept;

}  // namespace refrain::env
