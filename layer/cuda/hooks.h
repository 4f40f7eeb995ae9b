// What the engine asks of the CUDA layer.
#pragma once

#include "replay/engine.h"

namespace refrain::layer::cuda {

class Hooks final : public replay::LayerHooks {
 public:
  /// Records the application's event of a held cuEventRecord.
  void fulfil(const capture::OperationView& operation, backends::Event event, int status) noexcept override;
  /// Nothing can be retained in CUDA. The backend refuses to record what is gone, and whoever destroys
  /// something waits until nothing is being recorded.
  bool retain_objects(const capture::OperationView& operation) noexcept override;
  void release_objects(const capture::OperationView& operation) noexcept override;
  backends::Event acquire_event(capture::WaitRef wait) noexcept override;
  std::string function_name(capture::FunctionId function) noexcept override;
};

}  // namespace refrain::layer::cuda
