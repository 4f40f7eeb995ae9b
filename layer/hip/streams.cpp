// Streams by their handles, and what ends them and the devices.

#include "layer/hip/submission.h"

namespace refrain::layer::hip {
namespace {

using Table = streams::StreamTable<HipLayer>;

/// Times that any device was reset.
std::atomic<std::uint64_t> resets{1};

}  // namespace

int HipLayer::current_context() noexcept {
  int device = -1;
  const backends::HipDriver& driver = hip::runtime.driver;
  if (driver.hipGetDevice == nullptr || backends::quiet(driver, driver.hipGetDevice(&device)) != hipSuccess) {
    return -1;
  }
  return device;
}

std::uint64_t HipLayer::context_number(int /*device*/) noexcept {
  return resets.load(std::memory_order_acquire);
}

bool HipLayer::is_stream(const backends::Stream<Api>& known, hipStream_t handle, DefaultStream by_default) noexcept {
  const auto value = handle_of(handle);
  if (value > streams::kDefaultHandles) [[likely]] {
    return known.handle == handle;
  }
  return streams::is_default_stream<HipLayer>(known, handle, by_default);
}

std::uint64_t HipLayer::default_stream_key(hipStream_t handle, DefaultStream by_default) noexcept {
  const int device = current_context();
  if (device < 0) {
    return 0;
  }
  // 1 is hipStreamLegacy of newer runtimes, 2 hipStreamPerThread. The handles of the default streams go to the runtime
  // as numbers, too.
  const std::uint64_t context = (static_cast<std::uint64_t>(device) + 1) << 3U;
  return streams::is_legacy(handle_of(handle), by_default) ? context | streams::kLegacyKey
                                                           : streams::per_thread_key(context);
}

bool HipLayer::describe(backends::Stream<Api>& stream, hipStream_t handle, backends::StreamKind kind) noexcept {
  using backends::StreamKind;
  const backends::HipDriver& driver = hip::runtime.driver;
  stream.handle = handle;
  stream.kind = kind;
  if (kind != StreamKind::kBlocking) {  // a default stream: of the current device
    stream.context = current_context();
    return stream.context >= 0;
  }
  unsigned flags = 0;
  if (backends::quiet(driver, driver.hipStreamGetFlags(handle, &flags)) != hipSuccess) {
    return false;
  }
  stream.context = driver.hipGetStreamDeviceId(handle);
  stream.kind = (flags & hipStreamNonBlocking) != 0 ? StreamKind::kNonBlocking : StreamKind::kBlocking;
  return stream.context >= 0;
}

hipError_t wrap::hipStreamDestroy(hipStream_t stream) noexcept {
  return Table::all().destroy_stream(entry::hipStreamDestroy, stream, [&] { return library.hipStreamDestroy(stream); });
}

hipError_t wrap::hipDeviceReset() noexcept {
  return Table::all().destroy_context(entry::hipDeviceReset, HipLayer::current_context(), [] {
    resets.fetch_add(1, std::memory_order_acq_rel);
    return library.hipDeviceReset();
  });
}
hipError_t wrap::hipDevicePrimaryCtxReset(hipDevice_t device) noexcept {
  return Table::all().destroy_context(entry::hipDevicePrimaryCtxReset, device, [&] {
    resets.fetch_add(1, std::memory_order_acq_rel);
    return library.hipDevicePrimaryCtxReset(device);
  });
}
hipError_t wrap::hipDevicePrimaryCtxRelease(hipDevice_t device) noexcept {
  return Table::all().destroy_context(entry::hipDevicePrimaryCtxRelease, device,
                                      [&] { return library.hipDevicePrimaryCtxRelease(device); });
}

}  // namespace refrain::layer::hip
