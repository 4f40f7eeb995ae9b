#include "backends/hip/issue.h"

#include <cstring>

#include "backends/shape.h"

namespace refrain::backends {

using capture::OperationKind;
using capture::OperationView;
namespace words = capture::words;

hipMemcpy3DParms rows_of(const OperationView& operation) noexcept {
  const auto& rows = operation.as<words::PointerCopyRect>();
  const auto side = [&](std::size_t argument, std::uint64_t pitch, std::uint64_t rows_of_slice) {
    return hipPitchedPtr{reinterpret_cast<void*>(operation.handle_of(argument)), pitch, rows.row_bytes, rows_of_slice};
  };
  hipMemcpy3DParms copy{};
  copy.dstPtr = side(0, rows.to_pitch, rows.to_rows);
  copy.srcPtr = side(1, rows.from_pitch, rows.from_rows);
  copy.extent = {rows.row_bytes, rows.rows, rows.slices};
  copy.kind = hipMemcpyDeviceToDevice;
  return copy;
}

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

hipError_t copy_rows(const HipDriver& driver, const OperationView& operation, hipStream_t stream) {
  const hipMemcpy3DParms all = rows_of(operation);
  return all.extent.depth == 1
             ? driver.hipMemcpy2DAsync(all.dstPtr.ptr, all.dstPtr.pitch, all.srcPtr.ptr, all.srcPtr.pitch,
                                       all.extent.width, all.extent.height, all.kind, stream)
             : driver.hipMemcpy3DAsync(&all, stream);
}

hipError_t fill_rows(const HipDriver& driver, const OperationView& operation, hipStream_t stream) {
  const auto& rows = operation.as<words::PointerFillRect>();
  const auto pattern = operation.value_of(1);
  return pattern.size() != 1
             ? hipErrorInvalidValue
             : driver.hipMemset2DAsync(reinterpret_cast<void*>(operation.handle_of(0)), rows.pitch,
                                       std::to_integer<int>(pattern[0]), rows.row_bytes, rows.rows, stream);
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
      case OperationKind::kPointerCopyRect: return quiet(driver, copy_rows(driver, operation, stream));
      case OperationKind::kPointerFillRect: return quiet(driver, fill_rows(driver, operation, stream));
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
