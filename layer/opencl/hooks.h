// What the engine asks of the OpenCL layer.
#pragma once

#include "layer/control.h"
#include "layer/start_up.h"
#include "replay/engine.h"

namespace refrain::layer::opencl {

class Hooks final : public replay::LayerHooks {
 public:
  void fulfil(const capture::OperationView& operation, backends::Event event, int status) noexcept override;
  bool retain_objects(const capture::OperationView& operation) noexcept override;
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
  bool prints(capture::FunctionId function) noexcept override;
};

/// Remembers the name of a kernel for reports, and whether it may print. Thread-safe.
void remember_function(capture::FunctionId function, const std::string& name, bool prints) noexcept;

}  // namespace refrain::layer::opencl
