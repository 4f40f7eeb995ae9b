#include "layer/hip/last_error.h"

#include <utility>

#include "layer/hip/runtime.h"
#include "layer/hip/wrappers.h"

namespace refrain::layer::hip {
namespace {

/// An error of held work that a call reported although it succeeded itself: the runtime does not know of it.
thread_local hipError_t reported_error __attribute__((tls_model("initial-exec"))) = hipSuccess;

hipError_t get(hipError_t from_runtime) noexcept {
  const hipError_t error = std::exchange(reported_error, hipSuccess);
  return error != hipSuccess ? error : from_runtime;
}

}  // namespace

void HipLayer::on_hold(hipError_t status) noexcept {
  if (status != hipSuccess) {
    reported_error = status;
  } else if (!keeps_errors) {
    // The call would have succeeded, and with it an earlier error would have been forgotten.
    reported_error = hipSuccess;
    if (library.hipPeekAtLastError() != hipSuccess) {
      static_cast<void>(library.hipGetLastError());
    }
  }
}

void HipLayer::on_held_error(hipError_t status) noexcept {
  reported_error = status;
}

void HipLayer::on_success() noexcept {
  reported_error = keeps_errors ? reported_error : hipSuccess;  // as the runtime forgot its own
}

hipError_t wrap::hipGetLastError() noexcept {
  return get(library.hipGetLastError());
}
hipError_t wrap::hipExtGetLastError() noexcept {
  return get(library.hipExtGetLastError());
}
hipError_t wrap::hipPeekAtLastError() noexcept {
  return reported_error != hipSuccess ? reported_error : library.hipPeekAtLastError();
}

}  // namespace refrain::layer::hip
