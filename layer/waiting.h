// Calls in which a program waits for the device. A thread may be cancelled there (pthread_cancel()), which unwinds its
// stack through our functions: unlike the others these are not noexcept, and leave everything in order on the way.
// What they do before they call the driver is not interrupted.
#pragma once

#include <pthread.h>

#include <string_view>

namespace refrain::layer {

/// By name: those that wait until work is done, and nothing else.
consteval bool may_wait(std::string_view name) {
  constexpr std::string_view kWaits[] = {"cuCtxSynchronize",
                                         "cuCtxSynchronize_v2",
                                         "cuStreamSynchronize",
                                         "cuStreamSynchronize_ptsz",
                                         "cuEventSynchronize",
                                         "cuMemcpy",
                                         "cuMemcpy_ptds",
                                         "cuMemcpyDtoH_v2",
                                         "cuMemcpyDtoH_v2_ptds",
                                         "cuMemcpyHtoD_v2",
                                         "cuMemcpyHtoD_v2_ptds",
                                         "cuMemFree_v2",
                                         "cuMemFreeHost",
                                         "cuMemHostUnregister",
                                         "hipDeviceSynchronize",
                                         "hipCtxSynchronize",
                                         "hipStreamSynchronize",
                                         "hipStreamSynchronize_spt",
                                         "hipEventSynchronize",
                                         "hipMemcpy",
                                         "hipMemcpy_spt",
                                         "hipMemcpyDtoH",
                                         "hipMemcpyHtoD",
                                         "hipMemcpyWithStream",
                                         "hipFree",
                                         "hipFreeHost",
                                         "hipHostFree",
                                         "hipHostUnregister",
                                         "zeCommandListHostSynchronize",
                                         "zeCommandQueueSynchronize",
                                         "zeFenceHostSynchronize",
                                         "zeEventHostSynchronize",
                                         "zeCommandQueueExecuteCommandLists",  // of a synchronous queue
                                         "clFinish",
                                         "clWaitForEvents"};
  for (const std::string_view waits : kWaits) {
    if (name == waits) {
      return true;
    }
  }
  return false;
}

/// The type of a wrapper of a function of the driver.
template <class Pointer, bool waits>
struct WrapperType;
template <class Result, class... Parameters, bool waits>
struct WrapperType<Result (*)(Parameters...), waits> {
  using Type = Result(Parameters...) noexcept(!waits);
};

/// While it lives the calling thread is not cancelled: if somebody asks for it, it is when it next waits.
class NotCancelled {
 public:
  explicit NotCancelled(bool wanted) noexcept : wanted_(wanted) {
    if (wanted_) [[unlikely]] {
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
    }
  }
  ~NotCancelled() {
    if (wanted_) [[unlikely]] {
      pthread_setcancelstate(before_, nullptr);
    }
  }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  bool wanted_;
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace refrain::layer
