#include "layer/level_zero/resolver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "env/mutex.h"
#include "layer/elf_exports.h"
#include "layer/immortal.h"
#include "layer/level_zero/layer.h"
#include "layer/level_zero/runtime.h"
#include "layer/level_zero/tables.h"
#include "layer/level_zero/wrappers.h"

namespace refrain::layer::level_zero {

bool loader_wraps_handles() noexcept {
  const char* text = std::getenv("ZE_ENABLE_LOADER_INTERCEPT");
  return text != nullptr && *text != '\0' && *text != '0';
}

namespace {

/// The driver, if there is one only: with several of them handles are the loader's, and functions of one driver do not
/// take them.
ze_driver_handle_t only_driver() noexcept {
  // The engine may not have started.
  const auto get = reinterpret_cast<decltype(&::zeDriverGet)>(next_function("zeDriverGet"));
  std::uint32_t count = 0;
  ze_driver_handle_t only = nullptr;
  if (get == nullptr || get(&count, nullptr) != ZE_RESULT_SUCCESS || count != 1 ||
      get(&count, &only) != ZE_RESULT_SUCCESS || loader_wraps_handles()) {
    return nullptr;
  }
  return only;
}

template <class Function>
Function extension_function(ze_driver_handle_t of, const char* name) noexcept {
  void* function = nullptr;
  const bool found = runtime.driver.zeDriverGetExtensionFunctionAddress(of, name, &function) == ZE_RESULT_SUCCESS;
  return found ? reinterpret_cast<Function>(function) : nullptr;
}

/// Whether a library has code there.
bool is_code(const void* address) noexcept {
  try {
    return Segments(address, Segments::Kind::kExecutable).contains(address, 1);
  } catch (...) {
    return false;
  }
}

/// May throw std::bad_alloc.
bool has_extension(ze_driver_handle_t driver, const char* name) {
  std::uint32_t count = 0;
  if (runtime.driver.zeDriverGetExtensionProperties(driver, &count, nullptr) != ZE_RESULT_SUCCESS || count == 0) {
    return false;
  }
  std::vector<ze_driver_extension_properties_t> all(count);
  if (runtime.driver.zeDriverGetExtensionProperties(driver, &count, all.data()) != ZE_RESULT_SUCCESS) {
    return false;
  }
  all.resize(std::min<std::size_t>(count, all.size()));
  return std::ranges::any_of(all, [name](const auto& each) { return std::strcmp(each.name, name) == 0; });
}

/// May throw std::bad_alloc.
const backends::level_zero::MutableLists* find_mutable_lists(ze_device_handle_t device) {
  namespace api = backends::level_zero;
  const ze_driver_handle_t driver = only_driver();
  if (driver == nullptr || !has_extension(driver, api::kMutableListsName)) {
    return nullptr;
  }
  api::MutableListProperties able;
  ze_device_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  properties.pNext = &able;
  if (runtime.driver.zeDeviceGetProperties(device, &properties) != ZE_RESULT_SUCCESS ||
      (able.mutableCommandFlags & api::kMutatesArguments) == 0) {
    return nullptr;
  }
  api::MutableLists found;
  found.next_command = extension_function<decltype(found.next_command)>(driver, "zeCommandListGetNextCommandIdExp");
  found.update = extension_function<decltype(found.update)>(driver, "zeCommandListUpdateMutableCommandsExp");
  return found.next_command != nullptr && found.update != nullptr ? new api::MutableLists(found) : nullptr;
}

/// What is known of devices. Never freed: lists of the application name it.
struct Devices {
  env::Mutex mutex;
  std::vector<std::pair<ze_device_handle_t, const backends::level_zero::MutableLists*>> all REFRAIN_GUARDED_BY(mutex);
};
Devices& devices() noexcept {
  static Immortal<Devices> known;
  return *known;
}

}  // namespace

backends::level_zero::ImmediateAppend immediate_append() noexcept {
  const ze_driver_handle_t driver = only_driver();
  return driver == nullptr ? nullptr
                           : extension_function<backends::level_zero::ImmediateAppend>(
                                 driver, "zeCommandListImmediateAppendCommandListsExp");
}

backends::level_zero::RecordedInto recording_question() noexcept {
  constexpr const char* kName = "zeCommandListGetGraphExt";
  if (void* in_table = next_function(kName); in_table != nullptr) {
    return reinterpret_cast<backends::level_zero::RecordedInto>(in_table);
  }
  const ze_driver_handle_t driver = only_driver();
  return driver == nullptr ? nullptr : extension_function<backends::level_zero::RecordedInto>(driver, kName);
}

const backends::level_zero::MutableLists* mutable_lists(ze_device_handle_t device) noexcept {
  if (state().settings.updates == env::UpdateChoice::kNever) {
    return nullptr;
  }
  try {
    const env::MutexLock guard(devices().mutex);
    auto& all = devices().all;
    const auto known = std::ranges::find_if(all, [device](const auto& each) { return each.first == device; });
    if (known != all.end()) {
      return known->second;
    }
    all.emplace_back(device, find_mutable_lists(device));
    return all.back().second;
  } catch (...) {
    return nullptr;
  }
}

ze_result_t wrap::zeDriverGetExtensionFunctionAddress(ze_driver_handle_t driver, const char* name,
                                                      void** function) noexcept {
  const ze_result_t status = next.zeDriverGetExtensionFunctionAddress(driver, name, function);
  if (status != ZE_RESULT_SUCCESS || function == nullptr || *function == nullptr || name == nullptr) {
    return status;
  }
  if (!is_code(*function)) {
    // Drivers of NPUs hand out tables of functions by the names of extensions. It stays as it is, and what is called
    // through it is not seen.
    stand_aside("the program asked for a table of functions of the driver's own");
    common::flush_for_stub<Protocol>(entry::zeDriverGetExtensionFunctionAddress);
    return status;
  }
  if (void* known = known_function(*function, name); known != nullptr) {
    if (only_driver() == nullptr) {
      stand_aside("there are several drivers, and the program asked one of them for a function of its own");
    } else {
      *function = known;
    }
    return status;
  }
  // A function that nobody classified: what is held is submitted before it runs.
  if (void* stub = stub_for(*function, name); stub != nullptr) {
    *function = stub;
  } else {
    stand_aside("more functions of extensions than stubs, so that some calls are not seen");
  }
  return status;
}

}  // namespace refrain::layer::level_zero
