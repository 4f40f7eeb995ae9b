#include "layer/level_zero/hooks.h"

#include <string>

#include "layer/level_zero/graphs.h"
#include "layer/level_zero/objects.h"
#include "layer/level_zero/runtime.h"

namespace refrain::layer::level_zero {

std::string driver_version() {
  ze_driver_handle_t first = nullptr;
  std::uint32_t count = 1;
  ze_driver_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  const bool told = runtime.driver.zeDriverGet != nullptr && runtime.driver.zeDriverGetProperties != nullptr &&
                    runtime.driver.zeDriverGet(&count, &first) == ZE_RESULT_SUCCESS &&
                    runtime.driver.zeDriverGetProperties(first, &properties) == ZE_RESULT_SUCCESS;
  return told ? std::to_string(properties.driverVersion) : std::string();
}

void Hooks::fulfil(const capture::OperationView& /*operation*/, backends::Event /*event*/, int /*status*/) noexcept {}

bool Hooks::retain_objects(const capture::OperationView& /*operation*/) noexcept {
  return true;  // graphs let go of objects before they are destroyed (Engine::object_gone)
}

bool Hooks::is_current(const capture::OperationView& operation) noexcept {
  return operation.header().state == set_around();
}

void Hooks::release_objects(const capture::OperationView& /*operation*/) noexcept {}

backends::Event Hooks::acquire_event(capture::WaitRef /*wait*/) noexcept {
  return backends::kNoEvent;  // records name the events that their commands wait for
}

bool Hooks::may_wait() noexcept {
  return !open_waits() && !recording_anything();
}

replay::LayerHooks::Device Hooks::device_of(const capture::QueueInfo& queue) {
  ze_device_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  const auto& list = backends::ImmediateList::of(queue.handle);
  if (runtime.driver.zeDeviceGetProperties == nullptr ||
      runtime.driver.zeDeviceGetProperties(list.device, &properties) != ZE_RESULT_SUCCESS) {
    return {};
  }
  return {properties.name, driver_version(), handle_of(list.device)};
}

std::string Hooks::function_name(capture::FunctionId function) noexcept {
  return name_of_function(function);
}

}  // namespace refrain::layer::level_zero
