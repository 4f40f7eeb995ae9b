// Start, errors, the device.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "test/sim/hip/face.h"

namespace sim::hip {
namespace {

thread_local hipError_t last_error = hipSuccess;

}  // namespace

int version() noexcept {
  static const int told = [] {
    const char* wanted = std::getenv("SIM_HIP_VERSION");
    return wanted == nullptr ? 50731921 : static_cast<int>(std::strtol(wanted, nullptr, 10));
  }();
  return told;
}

int& device() noexcept {
  static thread_local int current = 0;
  return current;
}

hipError_t told(hipError_t status) noexcept {
  if (version() < 70000000 || (status != hipSuccess && status != hipErrorNotReady)) {
    last_error = status;
  }
  return status;
}

Status begin(const char* name, bool submission) noexcept {
  static const bool first = start();
  const Entered how = !first ? Entered::kNotStarted : submission ? enter_submission(name) : enter(name);
  if (how == Entered::kNotStarted) {
    return Status::kNotInitialized;
  }
  if (how == Entered::kEnded) {
    return Status::kDeinitialized;
  }
  {
    const Lock lock;
    if (state().primary == nullptr) {
      state().primary = make_context();
    }
    // The current device of a thread is always there.
    if (context_stack().empty()) {
      context_stack().push_back(state().primary);
    }
    context_stack().back() = state().primary;
  }
  return how == Entered::kInjected ? Status::kOutOfResources : Status::kOk;
}

}  // namespace sim::hip

using sim::Lock;
using sim::Status;

extern "C" {
__attribute__((visibility("default"))) const char* hipGetErrorName(hipError_t error);
__attribute__((visibility("default"))) const char* hipGetErrorString(hipError_t error);
__attribute__((visibility("default"))) int hipGetStreamDeviceId(hipStream_t stream);
}

FACE hipGetLastError() {
  sim::log("hipGetLastError");
  return std::exchange(sim::hip::last_error, hipSuccess);
}
FACE hipExtGetLastError() {
  sim::log("hipExtGetLastError");
  return std::exchange(sim::hip::last_error, hipSuccess);
}
FACE hipPeekAtLastError() {
  sim::log("hipPeekAtLastError");
  return sim::hip::last_error;
}
const char* hipGetErrorName(hipError_t error) {
  switch (error) {
    case hipSuccess: return "hipSuccess";
    case hipErrorInvalidValue: return "hipErrorInvalidValue";
    case hipErrorNotReady: return "hipErrorNotReady";
    case hipErrorLaunchOutOfResources: return "hipErrorLaunchOutOfResources";
    default: return "hipErrorUnknown";
  }
}
const char* hipGetErrorString(hipError_t error) {
  return hipGetErrorName(error);
}
FACE hipRuntimeGetVersion(int* version) {
  sim::log("hipRuntimeGetVersion");
  *version = sim::hip::version();
  return sim::hip::told(hipSuccess);
}
FACE hipDriverGetVersion(int* version) {
  sim::log("hipDriverGetVersion");
  *version = sim::hip::version();
  return sim::hip::told(hipSuccess);
}
CALL(hipInit, (unsigned), Status::kOk)
CALL(hipGetDeviceCount, (int* count), (*count = sim::settings().devices, Status::kOk))
CALL(hipGetDevice, (int* device), (*device = sim::hip::device(), Status::kOk))
CALL(hipSetDevice, (int device),
     device >= 0 && device < sim::settings().devices ? (sim::hip::device() = device, Status::kOk)
                                                     : Status::kInvalidDevice)
CALL(hipMemGetInfo, (std::size_t * unused, std::size_t* all), (*unused = *all = std::size_t{1} << 30U, Status::kOk))
/// Calls a function of the library by its name, as AMD's does here and there: one that a layer watches.
FACE hipDeviceGetName(char* name, int bytes, hipDevice_t) {
  sim::log("hipDeviceGetName");
  std::strncpy(name, "Simulated HIP device", static_cast<std::size_t>(bytes));
  std::size_t unused = 0, all = 0;
  return hipMemGetInfo(&unused, &all);
}

namespace {

Status synchronize() {
  Lock lock;
  if (const Status status = sim::forbidden_in_captures_of(*sim::state().primary); status != Status::kOk) {
    return status;
  }
  sim::wait_for_device(lock);
  return Status::kOk;
}

}  // namespace

CALL(hipDeviceSynchronize, (), synchronize())
CALL(hipCtxSynchronize, (), synchronize())
// AMD's do nothing (hip_context.cpp of its runtime, 5.x to 7.x).
CALL(hipDevicePrimaryCtxRelease, (hipDevice_t device), device == 0 ? Status::kOk : Status::kInvalidDevice)
CALL(hipDevicePrimaryCtxReset, (hipDevice_t), Status::kOk)
CALL(hipDeviceReset, (), [] {
  Lock lock;
  sim::destroy_context(lock, sim::state().primary);
  sim::state().primary = nullptr;
  return Status::kOk;
}())
int hipGetStreamDeviceId(hipStream_t handle) {
  sim::log("hipGetStreamDeviceId");
  const Lock lock;
  const sim::Stream* stream = sim::state().streams.find(handle);
  return stream == nullptr ? -1 : stream->device;
}
CALL(hipThreadExchangeStreamCaptureMode, (hipStreamCaptureMode * mode), [&] {
  const auto before = static_cast<hipStreamCaptureMode>(sim::capture_mode());
  sim::capture_mode() = static_cast<sim::CaptureMode>(*mode);
  *mode = before;
  return Status::kOk;
}())
