#include "backends/level_zero/system_loader.h"

#include <dlfcn.h>

namespace refrain::backends::level_zero {
namespace {

void* opened_loader = nullptr;

void* look_up_in_loader(const char* name) {
  return dlsym(opened_loader, name);
}

/// False, and the name, if the loader does not have it.
template <class Function>
bool find(Function& function, const char* name, const char** missing) {
  function = reinterpret_cast<Function>(look_up_in_loader(name));
  *missing = function == nullptr ? name : *missing;
  return function != nullptr;
}

bool find_own(SystemLoader& loader, const char** missing) {
#define FIND(name) find(loader.name, #name, missing)
  return FIND(zeInit) && FIND(zeContextCreate) && FIND(zeContextDestroy) &&
         FIND(zeDeviceGetCommandQueueGroupProperties) && FIND(zeMemAllocDevice) && FIND(zeMemAllocShared) &&
         FIND(zeModuleCreate) && FIND(zeModuleDestroy) && FIND(zeModuleBuildLogGetString) &&
         FIND(zeModuleBuildLogDestroy);
#undef FIND
}

}  // namespace

const SystemLoader* system_loader(std::string* why) {
  static SystemLoader loader;
  static bool started = false;
  if (started) {
    return &loader;
  }
  if (opened_loader == nullptr) {
    opened_loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
  }
  if (opened_loader == nullptr) {
    const char* const reason = dlerror();
    *why = std::string("this machine has no Level Zero loader (Debian: libze1): ") + (reason != nullptr ? reason : "");
    return nullptr;
  }
  fill(loader.driver, &look_up_in_loader);
  const char* missing = nullptr;
  if (!find_own(loader, &missing) || !can_replay(loader.driver, &missing)) {
    *why = std::string("this machine's Level Zero loader has no ") + missing;
    return nullptr;
  }
  if (!can_compare(loader.driver)) {
    *why = "this machine's Level Zero loader has not all functions for memory and lists";
    return nullptr;
  }
  if (const ze_result_t status = loader.zeInit(0); status != ZE_RESULT_SUCCESS) {
    *why = std::string("the Level Zero loader finds no driver here (") + backends::error_name(status) +
           "); `refrain doctor` says more";
    return nullptr;
  }
  started = true;
  return &loader;
}

}  // namespace refrain::backends::level_zero
