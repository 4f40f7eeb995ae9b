#include "backends/level_zero/extension_functions.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace refrain::backends::level_zero {

bool loader_wraps_handles() noexcept {
  const char* text = std::getenv("ZE_ENABLE_LOADER_INTERCEPT");
  return text != nullptr && *text != '\0' && *text != '0';
}

ze_driver_handle_t only_driver(decltype(&::zeDriverGet) get) noexcept {
  std::uint32_t count = 0;
  ze_driver_handle_t only = nullptr;
  if (get == nullptr || get(&count, nullptr) != ZE_RESULT_SUCCESS || count != 1 ||
      get(&count, &only) != ZE_RESULT_SUCCESS || loader_wraps_handles()) {
    return nullptr;
  }
  return only;
}

void* extension_function(const LevelZeroDriver& driver, ze_driver_handle_t of, const char* name) noexcept {
  void* function = nullptr;
  const bool found = driver.zeDriverGetExtensionFunctionAddress != nullptr &&
                     driver.zeDriverGetExtensionFunctionAddress(of, name, &function) == ZE_RESULT_SUCCESS;
  return found ? function : nullptr;
}

namespace {

template <class Function>
Function extension_function_as(const LevelZeroDriver& driver, ze_driver_handle_t of, const char* name) noexcept {
  return reinterpret_cast<Function>(extension_function(driver, of, name));
}

/// May throw std::bad_alloc.
bool has_extension(const LevelZeroDriver& driver, ze_driver_handle_t of, const char* name) {
  std::uint32_t count = 0;
  if (driver.zeDriverGetExtensionProperties(of, &count, nullptr) != ZE_RESULT_SUCCESS || count == 0) {
    return false;
  }
  std::vector<ze_driver_extension_properties_t> all(count);
  if (driver.zeDriverGetExtensionProperties(of, &count, all.data()) != ZE_RESULT_SUCCESS) {
    return false;
  }
  all.resize(std::min<std::size_t>(count, all.size()));
  return std::ranges::any_of(all, [name](const auto& each) { return std::strcmp(each.name, name) == 0; });
}

}  // namespace

ImmediateAppend find_immediate_append(const LevelZeroDriver& driver) noexcept {
  const ze_driver_handle_t only = only_driver(driver.zeDriverGet);
  return only == nullptr
             ? nullptr
             : extension_function_as<ImmediateAppend>(driver, only, "zeCommandListImmediateAppendCommandListsExp");
}

std::optional<MutableLists> find_mutable_lists(const LevelZeroDriver& driver, ze_device_handle_t device) {
  const ze_driver_handle_t only = only_driver(driver.zeDriverGet);
  if (only == nullptr || !has_extension(driver, only, kMutableListsName)) {
    return std::nullopt;
  }
  MutableListProperties able;
  ze_device_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  properties.pNext = &able;
  if (driver.zeDeviceGetProperties(device, &properties) != ZE_RESULT_SUCCESS ||
      (able.mutableCommandFlags & kMutatesArguments) == 0) {
    return std::nullopt;
  }
  MutableLists found;
  found.next_command =
      extension_function_as<decltype(found.next_command)>(driver, only, "zeCommandListGetNextCommandIdExp");
  found.update = extension_function_as<decltype(found.update)>(driver, only, "zeCommandListUpdateMutableCommandsExp");
  return found.next_command != nullptr && found.update != nullptr ? std::optional(found) : std::nullopt;
}

}  // namespace refrain::backends::level_zero
