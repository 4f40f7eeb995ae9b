// One recorded operation given to the driver.
#pragma once

#include "backends/cuda/driver_api.h"
#include "capture/operation.h"

namespace refrain::backends {

/// The context of the operation's stream must be current. Event records and waits do nothing here: their
/// events are the layer's and the submission's business.
CUresult submit(const CudaDriver& driver, const capture::OperationView& operation, CUstream stream) noexcept;

/// False for operations without work of their own (event record and wait).
[[nodiscard]] bool has_work(const capture::OperationView& operation) noexcept;

/// Makes a context current for as long as it lives.
class ContextScope {
 public:
  ContextScope(const CudaDriver& driver, CUcontext context) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  [[nodiscard]] CUresult status() const noexcept { return status_; }

 private:
  const CudaDriver& driver_;
  bool pushed_ = false;
  CUresult status_ = CUDA_SUCCESS;
};

}  // namespace refrain::backends
