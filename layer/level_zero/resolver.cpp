#include "layer/level_zero/resolver.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/level_zero/extension_functions.h"
#include "env/mutex.h"
#include "layer/elf_exports.h"
#include "layer/immortal.h"
#include "layer/level_zero/layer.h"
#include "layer/level_zero/runtime.h"
#include "layer/level_zero/tables.h"
#include "layer/level_zero/wrappers.h"

namespace refrain::layer::level_zero {

namespace {

/// The engine may not have started.
ze_driver_handle_t only_driver() noexcept {
  return backends::level_zero::only_driver(reinterpret_cast<decltype(&::zeDriverGet)>(next_function("zeDriverGet")));
}

/// Whether a library has code there.
bool is_code(const void* address) noexcept {
  try {
    return Segments(address, Segments::Kind::kExecutable).contains(address, 1);
  } catch (...) {
    return false;
  }
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
  return backends::level_zero::find_immediate_append(runtime.driver);
}

backends::level_zero::RecordedInto recording_question() noexcept {
  constexpr const char* kName = "zeCommandListGetGraphExt";
  if (void* in_table = next_function(kName); in_table != nullptr) {
    return reinterpret_cast<backends::level_zero::RecordedInto>(in_table);
  }
  const ze_driver_handle_t driver = only_driver();
  return driver == nullptr ? nullptr
                           : reinterpret_cast<backends::level_zero::RecordedInto>(
                                 backends::level_zero::extension_function(runtime.driver, driver, kName));
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
    const auto found = backends::level_zero::find_mutable_lists(runtime.driver, device);
    all.emplace_back(device, found ? new backends::level_zero::MutableLists(*found) : nullptr);
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
