#include "backends/hip/system_runtime.h"

#include <dlfcn.h>

namespace refrain::backends::hip {
namespace {

void* opened = nullptr;

void* look_up(const char* name) {
  return dlsym(opened, name);
}

}  // namespace

const HipDriver* system_runtime(const std::string& path, std::string* why) {
  static HipDriver driver;
  if (path.empty()) {
    *why = "this machine has no HIP runtime (libamdhip64.so, of ROCm); the setting hip_library names one elsewhere";
    return nullptr;
  }
  if (opened == nullptr) {
    opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      const char* const reason = dlerror();
      *why = "the HIP runtime cannot be opened: " + (reason != nullptr ? reason : path);
      return nullptr;
    }
    fill(driver, &look_up);
  }
  const std::string unusable = why_unusable(driver);
  const char* missing = nullptr;
  if (!unusable.empty()) {
    *why = path + ": " + unusable;
  } else if (!can_stand_alone(driver, &missing)) {
    *why = path + ": the runtime has no " + missing;
  } else {
    return &driver;
  }
  return nullptr;
}

}  // namespace refrain::backends::hip
