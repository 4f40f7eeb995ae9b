#include "env/level_zero_environment.h"

#include <dlfcn.h>

#include "env/preload.h"
#include "env/secure_process.h"

namespace refrain::env {
namespace {

constexpr const char* kSearchPath = "LD_LIBRARY_PATH";
constexpr const char* kSavedValidation = "REFRAIN_SAVED_ZE_ENABLE_VALIDATION_LAYER";
/// Set while we are in, because "was not set" and "we are not in" look the same in the other.
constexpr const char* kActive = "REFRAIN_LEVEL_ZERO_ACTIVE";

std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string file = info.dli_fname;
  return file.substr(0, file.rfind('/'));
}

}  // namespace

std::vector<Variable> activate_level_zero(const std::string& folder, const Lookup& lookup) {
  std::vector<Variable> result = activate_library(kSearchPath, folder, lookup, {}, Place::kFirst);
  if (lookup(kActive)) return result;  // a `refrain run` inside another one
  result.push_back({kSavedValidation, lookup(kValidationVariable)});
  result.push_back({kValidationVariable, "1"});
  result.push_back({kActive, "1"});
  return result;
}

std::vector<Variable> remove_level_zero(const std::string& folder, const Lookup& lookup) {
  std::vector<Variable> changes = remove_libraries(kSearchPath, {folder}, lookup);
  if (lookup(kActive)) {
    changes.push_back({kValidationVariable, lookup(kSavedValidation)});
    changes.push_back({kSavedValidation, std::nullopt});
    changes.push_back({kActive, std::nullopt});
  }
  return changes;
}

bool wants_real_validation(const Lookup& lookup) {
  // The loader takes "1" for yes.
  return lookup(kSavedValidation) == "1";
}

void restore_level_zero(const Settings& settings) noexcept {
  try {
    if (settings.follow_children || in_secure_process()) return;
    apply(remove_level_zero(own_folder(), process_variable));
  } catch (...) {
    // Out of memory: children load the library, and it is off in them.
  }
}

}  // namespace refrain::env
