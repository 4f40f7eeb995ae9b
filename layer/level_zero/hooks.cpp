#include "layer/level_zero/hooks.h"

#include "layer/level_zero/objects.h"

namespace refrain::layer::level_zero {

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
  return !open_waits();
}

std::string Hooks::function_name(capture::FunctionId function) noexcept {
  return name_of_function(function);
}

}  // namespace refrain::layer::level_zero
