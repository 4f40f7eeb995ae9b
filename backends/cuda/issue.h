// One recorded operation given to the driver.
#pragma once

#include "backends/cuda/driver_api.h"
#include "backends/streams/operation.h"
#include "capture/operation.h"

namespace refrain::backends {

/// The context of the operation's stream must be current. Event records and waits do nothing here: their
/// events are the layer's and the submission's business.
CUresult submit(const CudaDriver& driver, const capture::OperationView& operation, CUstream stream) noexcept;

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

/// As long as it lives, calls of this thread are ours: they do not disturb a capture of the application.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const CudaDriver& driver) noexcept : driver_(driver) { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() noexcept {
    if (driver_.cuThreadExchangeStreamCaptureMode != nullptr) {  // drivers too old to replay can be captured
      driver_.cuThreadExchangeStreamCaptureMode(&mode_);
    }
  }

  const CudaDriver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace refrain::backends
