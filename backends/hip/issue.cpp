#include "backends/hip/issue.h"

#include <cstring>

#include "backends/shape.h"

namespace refrain::backends {

using capture::OperationKind;
using capture::OperationView;
namespace words = capture::words;

namespace {

hipError_t launch(const HipDriver& driver, const OperationView& operation, hipStream_t stream) {
  KernelLaunch call;
  if (!call.read(operation)) {
    return hipErrorInvalidValue;
  }
  auto* function = reinterpret_cast<void*>(operation.header().function_handle);
  if (call.more.empty()) {
    return driver.hipModuleLaunchKernel(static_cast<hipFunction_t>(function), call.grid.x, call.grid.y, call.grid.z,
                                        call.block.x, call.block.y, call.block.z, call.shared_bytes, stream,
                                        call.parameters.data(), nullptr);
  }
  return driver.hipLaunchKernel(function, dim3(call.grid.x, call.grid.y, call.grid.z),
                                dim3(call.block.x, call.block.y, call.block.z), call.parameters.data(),
                                call.shared_bytes, stream);
}

hipError_t fill(const HipDriver& driver, const OperationView& operation, hipStream_t stream) {
  const auto* const numbers = operation.find<words::PointerFill>();
  const auto pattern = operation.value_of(1);
  auto* destination = reinterpret_cast<void*>(operation.handle_of(0));
  std::uint32_t value = 0;
  if (numbers == nullptr || pattern.size() > sizeof(value) || pattern.empty()) {
    return hipErrorInvalidValue;
  }
  std::memcpy(&value, pattern.data(), pattern.size());
  const std::size_t count = numbers->bytes / pattern.size();
  switch (pattern.size()) {
    case 1: return driver.hipMemsetAsync(destination, static_cast<int>(value), count, stream);
    case 2: return driver.hipMemsetD16Async(destination, static_cast<unsigned short>(value), count, stream);
    case 4: return driver.hipMemsetD32Async(destination, static_cast<int>(value), count, stream);
    default: return hipErrorInvalidValue;
  }
}

hipError_t copy(const HipDriver& driver, const OperationView& operation, hipStream_t stream) {
  const auto* const numbers = operation.find<words::PointerCopy>();
  return numbers == nullptr ? hipErrorInvalidValue
                            : driver.hipMemcpyAsync(reinterpret_cast<void*>(operation.handle_of(0)),
                                                    reinterpret_cast<const void*>(operation.handle_of(1)),
                                                    numbers->bytes, hipMemcpyDefault, stream);
}

hipError_t prefetch(const HipDriver& driver, const OperationView& operation, hipStream_t stream) {
  const auto* const to = operation.find<words::PointerPrefetchTo>();
  if (to == nullptr || driver.hipMemPrefetchAsync == nullptr) {
    return hipSuccess;  // advice, which need not be followed
  }
  const int device = to->kind == words::PointerPrefetchTo::kToHost ? hipCpuDeviceId : static_cast<int>(to->place);
  return driver.hipMemPrefetchAsync(reinterpret_cast<const void*>(operation.handle_of(0)), to->bytes, device, stream);
}

}  // namespace

hipError_t submit(const HipDriver& driver, const OperationView& operation, hipStream_t stream) noexcept {
  if (!has_work(operation)) {
    return hipSuccess;
  }
  if (!arguments_fit(operation)) {
    return hipErrorInvalidValue;
  }
  try {
    switch (operation.kind()) {
      case OperationKind::kKernel: return quiet(driver, launch(driver, operation, stream));
      case OperationKind::kPointerCopy: return quiet(driver, copy(driver, operation, stream));
      case OperationKind::kPointerFill: return quiet(driver, fill(driver, operation, stream));
      case OperationKind::kPointerMigrate: return quiet(driver, prefetch(driver, operation, stream));
      case OperationKind::kHostFunction: {
        HostFunction call;
        return call.read(operation) ? quiet(driver, driver.hipLaunchHostFunc(stream, call.function, call.data))
                                    : hipErrorInvalidValue;
      }
      default: return hipErrorNotSupported;
    }
  } catch (...) {
    return hipErrorOutOfMemory;
  }
}

DeviceScope::DeviceScope(const HipDriver& driver, int device) noexcept : driver_(driver) {
  int current = -1;
  status_ = quiet(driver, driver.hipGetDevice(&current));
  if (status_ != hipSuccess || current == device) {
    return;
  }
  status_ = quiet(driver, driver.hipSetDevice(device));
  before_ = status_ == hipSuccess ? current : -1;
}

DeviceScope::~DeviceScope() {
  if (before_ >= 0) {
    static_cast<void>(quiet(driver_, driver_.hipSetDevice(before_)));
  }
}

}  // namespace refrain::backends
