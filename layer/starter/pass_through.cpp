// What a starter does for want of its layer, or if that cannot start: every stub leads straight to the real library.
#include "env/secure_process.h"
#include "layer/starter/c_library.h"
#include "layer/starter/candidates.h"
#include "layer/starter/facts.h"

namespace refrain::layer::starter {
namespace {

// The same numbers in CUDA and HIP. Called with any arguments: the caller cleans up.
int no_device() noexcept {
  return 100;
}
int not_supported() noexcept {
  return 801;
}
// Constructors of HIP programs call functions that report no errors, and use what they get.
void** nothing() noexcept {
  static void* none = nullptr;
  return &none;
}

bool try_library(const char* path, void* found) {
  const char* why = "";
  void* const library = open_library(path, &why);
  const DynamicSymbols symbols(library);
  if (library == nullptr || symbols.find(facts.marker) != nullptr || symbols.find(facts.probe) == nullptr) {
    return false;  // not there, another copy of ours, or something else
  }
  *static_cast<void**>(found) = library;
  return true;
}

void* open_real_library() noexcept {
  void* library = nullptr;
  const char* const given = env::in_secure_process() ? nullptr : getenv(facts.setting);
  if (given != nullptr && *given != '\0') {
    try_library(given, &library);
  } else {
    visit_candidates(facts.soname, facts.folders, facts.folder_count, {&try_library, &library});
  }
  return library;
}

void* function_for(const char* name, void* library, const DynamicSymbols& symbols) noexcept {
  void* const found = library == nullptr ? nullptr : symbols.find(name);
  if (found != nullptr) {
    return found;
  }
  if (name[0] == '_') {
    return reinterpret_cast<void*>(&nothing);
  }
  return library == nullptr ? reinterpret_cast<void*>(&no_device) : reinterpret_cast<void*>(&not_supported);
}

}  // namespace

void pass_to(void* library) noexcept {
  library = library == nullptr ? open_real_library() : library;
  const DynamicSymbols symbols(library);
  std::uint32_t index = 0;
  for (const char* name = facts.names; *name != '\0'; name += strlen(name) + 1) {
    __atomic_store_n(&refrain_starter_targets[index++], function_for(name, library, symbols), __ATOMIC_RELEASE);
  }
  for (std::uint32_t other = 0; index < facts.stubs; ++other) {
    __atomic_store_n(&refrain_starter_targets[index++], facts.other(other), __ATOMIC_RELEASE);
  }
}

}  // namespace refrain::layer::starter
