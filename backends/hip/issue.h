// One recorded operation given to the runtime.
#pragma once

#include "backends/hip/driver_api.h"
#include "backends/streams/operation.h"
#include "capture/operation.h"

namespace refrain::backends {

/// What there is more to say of a launch (see KernelLaunch): nothing if its function is a module's, this value if it is
/// a function of the program, as hipLaunchKernel() takes it.
inline constexpr std::uint64_t kProgramsFunction = 1;

/// A copy of rows (kPointerCopyRect), which is within the memory of one device: what the runtime makes of copies of
/// rows from and to the host, whose direction it is to find out, differs from version to version.
hipMemcpy3DParms rows_of(const capture::OperationView& operation) noexcept;

/// The device of the operation's stream must be current. Event records and waits do nothing here: their
/// events are the layer's and the submission's business.
hipError_t submit(const HipDriver& driver, const capture::OperationView& operation, hipStream_t stream) noexcept;

/// Makes a device current for as long as it lives.
class DeviceScope {
 public:
  DeviceScope(const HipDriver& driver, int device) noexcept;
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  [[nodiscard]] hipError_t status() const noexcept { return status_; }

 private:
  const HipDriver& driver_;
  int before_ = -1;  ///< -1: nothing is to be put back
  hipError_t status_ = hipSuccess;
};

/// As long as it lives, calls of this thread are ours: they do not disturb a capture of the application.
class HipRelaxedCapture {
 public:
  explicit HipRelaxedCapture(const HipDriver& driver) noexcept : driver_(driver) { exchange(); }
  ~HipRelaxedCapture() { exchange(); }
  HipRelaxedCapture(const HipRelaxedCapture&) = delete;
  HipRelaxedCapture& operator=(const HipRelaxedCapture&) = delete;

 private:
  void exchange() noexcept { static_cast<void>(quiet(driver_, driver_.hipThreadExchangeStreamCaptureMode(&mode_))); }

  const HipDriver& driver_;
  hipStreamCaptureMode mode_ = hipStreamCaptureModeRelaxed;
};

}  // namespace refrain::backends
