// The part of the environment that puts Refrain into the place of Level Zero's validation layer: the loader opens
// libze_validation_layer.so.1 by that name if ZE_ENABLE_VALIDATION_LAYER is set, and the dynamic linker looks into
// LD_LIBRARY_PATH first.
//
// What the variables were before is kept in REFRAIN_SAVED_<variable>, if they were set; the layer then opens the real
// validation layer for users who had asked for it.
#pragma once

#include <string>
#include <vector>

#include "env/child_environment.h"

namespace refrain::env {

/// The variable with which the loader is asked for its validation layer.
inline constexpr const char* kValidationVariable = "ZE_ENABLE_VALIDATION_LAYER";

/// What puts the library in `folder` (absolute path) into the validation layer's place. Throws std::runtime_error if
/// the path has a character that separates folders.
std::vector<Variable> activate_level_zero(const std::string& folder, const Lookup& lookup);

/// What takes it out again, and leaves everything else as it was.
std::vector<Variable> remove_level_zero(const std::string& folder, const Lookup& lookup);

/// Whether the user had asked for the real validation layer before `refrain run`.
[[nodiscard]] bool wants_real_validation(const Lookup& lookup);

/// Called by the layer, once, when it starts: unless children are followed it takes itself out of the environment.
/// Never throws.
void restore_level_zero(const Settings& settings) noexcept;

}  // namespace refrain::env
