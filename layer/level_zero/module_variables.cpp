#include "layer/level_zero/module_variables.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/spirv_contents.h"
#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/level_zero/inventory.h"
#include "layer/level_zero/runtime.h"
#include "layer/waiting.h"

namespace refrain::layer::level_zero {
namespace {

constexpr const char* kUnknownCode = "it is not known which variables the code of a kernel has";
constexpr const char* kUnnamed = "the driver does not tell where a variable of a kernel's code is";

struct Code {
  backends::ModuleContents contents;
  ze_context_handle_t context = nullptr;
  ze_device_handle_t device = nullptr;
  bool in_use = false;
  std::vector<void*> variables = {};  ///< in the inventory
};

struct Tables {
  env::Mutex mutex;
  std::unordered_map<ze_module_handle_t, Code> modules REFRAIN_GUARDED_BY(mutex);
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

/// False: the driver does not know it by this name.
bool add_variable(ze_module_handle_t module, Code& code, const std::string& name) {
  void* address = nullptr;
  std::size_t bytes = 0;
  if (runtime.driver.zeModuleGetGlobalPointer == nullptr ||
      runtime.driver.zeModuleGetGlobalPointer(module, name.c_str(), &bytes, &address) != ZE_RESULT_SUCCESS ||
      address == nullptr || bytes == 0) {
    return false;
  }
  code.variables.push_back(address);
  note_memory(code.context, code.device, capture::MemoryPlace::kDevice, address, bytes);
  return true;
}

}  // namespace

void note_module(ze_module_handle_t module, ze_context_handle_t context, ze_device_handle_t device,
                 const ze_module_desc_t& description) noexcept {
  if (runtime.inventory == nullptr) {
    return;
  }
  try {
    Code code{{}, context, device};
    // What is chained to it may be more code.
    if (description.format == ZE_MODULE_FORMAT_IL_SPIRV && description.pNext == nullptr) {
      code.contents = backends::contents_of_spirv(
          {reinterpret_cast<const std::byte*>(description.pInputModule), description.inputSize});
    }
    const env::MutexLock guard(tables().mutex);
    tables().modules[module] = std::move(code);
  } catch (...) {
    // Not known.
  }
}

void note_module_in_use(ze_module_handle_t module) noexcept {
  if (runtime.inventory == nullptr) {
    return;
  }
  const NotCancelled during(true);
  const env::MutexLock guard(tables().mutex);
  const auto found = tables().modules.find(module);
  if (found == tables().modules.end() || !found->second.contents.known) {
    note_incomparable(kUnknownCode);
    return;
  }
  Code& code = found->second;
  if (std::exchange(code.in_use, true)) {
    return;
  }
  if (code.contents.prints) {
    note_incomparable(backends::kPrintsOrAllocates);
  }
  bool all_found = !code.contents.unnamed_variables;
  try {
    for (const std::string& name : code.contents.variables) {
      all_found = add_variable(module, code, name) && all_found;
    }
  } catch (...) {
    all_found = false;
  }
  if (!all_found) {
    note_incomparable(kUnnamed);
  }
}

void forget_module(ze_module_handle_t module) noexcept {
  if (runtime.inventory == nullptr) {
    return;
  }
  std::vector<void*> variables;
  {
    const NotCancelled during(true);
    const env::MutexLock guard(tables().mutex);
    if (const auto found = tables().modules.find(module); found != tables().modules.end()) {
      variables = std::move(found->second.variables);
      tables().modules.erase(found);
    }
  }
  for (const void* variable : variables) {
    const Freeing freeing(variable);
  }
}

}  // namespace refrain::layer::level_zero
