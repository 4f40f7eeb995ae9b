// What the engine asks of this layer.
#pragma once

#include <string>

#include "layer/control.h"
#include "layer/start_up.h"
#include "replay/engine.h"

namespace refrain::layer::level_zero {

/// The first driver's version, empty if it does not tell; further ones are for other kinds of devices. May throw
/// std::bad_alloc.
[[nodiscard]] std::string driver_version();

/// Nothing is promised for held work: its commands signal the application's own events when they are submitted, and
/// who looks at an event flushes first.
class Hooks final : public replay::LayerHooks {
 public:
  void fulfil(const capture::OperationView& operation, backends::Event event, int status) noexcept override;
  bool retain_objects(const capture::OperationView& operation) noexcept override;
  bool is_current(const capture::OperationView& operation) noexcept override;
  void release_objects(const capture::OperationView& operation) noexcept override;
  backends::Event acquire_event(capture::WaitRef wait) noexcept override;
  bool may_wait() noexcept override;
  bool watch_exit() noexcept override { return layer::watch_exit(); }
  void begin() noexcept override {
    layer::watch_end();
    layer::open_control_socket();
  }
  const env::Region* region_now() noexcept override { return layer::region_now(); }
  Device device_of(const capture::QueueInfo& queue) override;
  std::string function_name(capture::FunctionId function) noexcept override;
};

}  // namespace refrain::layer::level_zero
