#include "backends/cuda/issue.h"

#include <cstring>

#include "backends/cuda/graph_node.h"
#include "backends/cuda/kernel_call.h"
#include "backends/shape.h"

namespace refrain::backends {

using capture::OperationKind;
using capture::OperationView;
namespace words = capture::words;

namespace {

CUresult launch(const CudaDriver& driver, const OperationView& operation, CUstream stream) {
  KernelCall call;
  if (!call.read(operation)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto* function = reinterpret_cast<CUfunction>(operation.header().function_handle);
  if (call.attributes.empty()) {
    return driver.cuLaunchKernel(function, call.grid.x, call.grid.y, call.grid.z, call.block.x, call.block.y,
                                 call.block.z, call.shared_bytes, stream, call.parameters.data(), nullptr);
  }
  CUlaunchConfig config{};
  config.gridDimX = call.grid.x;
  config.gridDimY = call.grid.y;
  config.gridDimZ = call.grid.z;
  config.blockDimX = call.block.x;
  config.blockDimY = call.block.y;
  config.blockDimZ = call.block.z;
  config.sharedMemBytes = call.shared_bytes;
  config.hStream = stream;
  config.attrs = call.attributes.data();
  config.numAttrs = static_cast<unsigned>(call.attributes.size());
  return driver.cuLaunchKernelEx(&config, function, call.parameters.data(), nullptr);
}

CUresult fill_rows(const CudaDriver& driver, const OperationView& operation, CUstream stream) {
  const auto& rows = operation.as<words::PointerFillRect>();
  const auto pattern = operation.value_of(1);
  const auto destination = static_cast<CUdeviceptr>(operation.handle_of(0));
  std::uint32_t value = 0;
  if (pattern.size() > sizeof(value) || pattern.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(&value, pattern.data(), pattern.size());
  const std::size_t pitch = rows.pitch;
  const std::size_t width = rows.row_bytes / pattern.size();
  const std::size_t height = rows.rows;
  switch (pattern.size()) {
    case 1:
      return driver.cuMemsetD2D8Async(destination, pitch, static_cast<unsigned char>(value), width, height, stream);
    case 2:
      return driver.cuMemsetD2D16Async(destination, pitch, static_cast<unsigned short>(value), width, height, stream);
    case 4: return driver.cuMemsetD2D32Async(destination, pitch, value, width, height, stream);
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult fill(const CudaDriver& driver, const OperationView& operation, CUstream stream) {
  const auto* const numbers = operation.find<words::PointerFill>();
  const auto pattern = operation.value_of(1);
  const auto destination = static_cast<CUdeviceptr>(operation.handle_of(0));
  std::uint32_t value = 0;
  if (numbers == nullptr || pattern.size() > sizeof(value) || pattern.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(&value, pattern.data(), pattern.size());
  const std::size_t count = numbers->bytes / pattern.size();
  switch (pattern.size()) {
    case 1: return driver.cuMemsetD8Async(destination, static_cast<unsigned char>(value), count, stream);
    case 2: return driver.cuMemsetD16Async(destination, static_cast<unsigned short>(value), count, stream);
    case 4: return driver.cuMemsetD32Async(destination, value, count, stream);
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult prefetch(const CudaDriver& driver, const OperationView& operation, CUstream stream) {
  const auto* const to = operation.find<words::PointerPrefetchTo>();
  if (to == nullptr || driver.cuMemPrefetchAsync_v2 == nullptr) {
    return CUDA_SUCCESS;  // advice, which need not be followed
  }
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(to->kind);
  location.id = static_cast<int>(to->place);
  return driver.cuMemPrefetchAsync_v2(operation.handle_of(0), to->bytes, location, static_cast<unsigned>(to->flags),
                                      stream);
}

}  // namespace

CUresult submit(const CudaDriver& driver, const OperationView& operation, CUstream stream) noexcept {
  if (!has_work(operation)) {
    return CUDA_SUCCESS;
  }
  if (!arguments_fit(operation)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  try {
    switch (operation.kind()) {
      case OperationKind::kKernel: return launch(driver, operation, stream);
      case OperationKind::kPointerCopy: {
        const auto* const numbers = operation.find<words::PointerCopy>();
        return numbers == nullptr
                   ? CUDA_ERROR_INVALID_VALUE
                   : driver.cuMemcpyAsync(operation.handle_of(0), operation.handle_of(1), numbers->bytes, stream);
      }
      case OperationKind::kPointerFill: return fill(driver, operation, stream);
      case OperationKind::kPointerFillRect: return fill_rows(driver, operation, stream);
      case OperationKind::kPointerMigrate: return prefetch(driver, operation, stream);
      case OperationKind::kHostFunction: {
        HostFunction call;
        return call.read(operation) ? driver.cuLaunchHostFunc(stream, call.function, call.data)
                                    : CUDA_ERROR_INVALID_VALUE;
      }
      case OperationKind::kPointerCopyRect: {
        const CUDA_MEMCPY3D_v2 copy = copy_parameters(operation);
        return driver.cuMemcpy3DAsync_v2(&copy, stream);
      }
      default: return CUDA_ERROR_NOT_SUPPORTED;
    }
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

[[gnu::hot]] ContextScope::ContextScope(const CudaDriver& driver, CUcontext context) noexcept : driver_(driver) {
  CUcontext current = nullptr;
  if (driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context) {
    return;
  }
  status_ = driver.cuCtxPushCurrent_v2(context);
  pushed_ = status_ == CUDA_SUCCESS;
}

[[gnu::hot]] ContextScope::~ContextScope() {
  if (pushed_) {
    CUcontext popped = nullptr;
    driver_.cuCtxPopCurrent_v2(&popped);
  }
}

}  // namespace refrain::backends
