// What the loader looks up in its validation layer, whose place this library takes: one function for each table, which
// may change what is in it. Where the user had asked for the real validation layer it is opened too, and comes first:
// it sees what the application calls.

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>

#include "env/level_zero_environment.h"
#include "env/log.h"
#include "env/secure_process.h"
#include "layer/elf_exports.h"
#include "layer/elf_symbols.h"
#include "layer/level_zero/layer.h"
#include "layer/level_zero/tables.h"
#include "layer/process.h"

namespace refrain::layer::level_zero {
namespace {

constexpr const char* kFile = "libze_validation_layer.so.1";
/// By this name another copy of this library is recognised.
constexpr const char* kMark = "refrain_level_zero_layer";

/// Where the loader is: the validation layer lies beside it.
std::filesystem::path loader_folder() {
  std::filesystem::path folder;
  visit_loaded_objects([&folder](const dl_phdr_info& info) {
    const std::filesystem::path file = info.dlpi_name;
    const bool found = file.filename().string().starts_with("libze_loader.so");
    folder = found ? file.parent_path() : folder;
    return found;
  });
  return folder;
}

void* open_real() noexcept {
  try {
    if (!env::wants_real_validation(env::process_variable)) {
      return nullptr;
    }
    const std::filesystem::path folder = loader_folder();
    // By its path: by the name alone the dynamic linker would find us.
    void* const opened = folder.empty() ? nullptr : dlopen((folder / kFile).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (opened == nullptr || DynamicSymbols(opened).find(kMark) != nullptr) {
      env::log_warning(
          "Level Zero: the validation layer that ZE_ENABLE_VALIDATION_LAYER asks for was not found beside "
          "the loader; it is left out");
      return nullptr;
    }
    return opened;
  } catch (...) {
    return nullptr;
  }
}

/// The user's validation layer, or null.
void* real_layer() noexcept {
  static void* const opened = open_real();
  return opened;
}

using Give = ze_result_t(ZE_APICALL*)(ze_api_version_t version, void* table);

ze_result_t give(const char* function, const char* table, ze_api_version_t version, void* slots) noexcept {
  if (slots == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  }
  if (env::in_secure_process() || in_other_namespace("Level Zero")) {
    return ZE_RESULT_SUCCESS;
  }
  const bool ours = interposing();  // reads the settings, and opens the log
  if (ours && *table != '\0') {
    take_over(table, version, slots);
  }
  if (void* real = real_layer(); real != nullptr) {
    if (const auto further = reinterpret_cast<Give>(DynamicSymbols(real).find(function)); further != nullptr) {
      return further(version, slots);
    }
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace
}  // namespace refrain::layer::level_zero

extern "C" {
#define VISIBLE __attribute__((visibility("default")))
#define GIVE(function, table)                                                      \
  VISIBLE ze_result_t ZE_APICALL function(ze_api_version_t version, void* slots) { \
    return refrain::layer::level_zero::give(#function, table, version, slots);     \
  }
#include "layer/level_zero/exports.def"
#undef GIVE

/// The loader lists its components by it: the real layer is one, we are none.
VISIBLE ze_result_t ZE_APICALL zelLoaderGetVersion(void* version) {
  using namespace refrain::layer::level_zero;
  if (void* real = real_layer(); real != nullptr) {
    if (auto* const further =
            reinterpret_cast<ze_result_t (*)(void*)>(refrain::layer::DynamicSymbols(real).find("zelLoaderGetVersion"));
        further != nullptr) {
      return further(version);
    }
  }
  return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

extern VISIBLE const char refrain_level_zero_layer[];
const char refrain_level_zero_layer[] = REFRAIN_VERSION;
}
