#include "backends/hip/graph_node.h"

#include <cstring>

#include "backends/hip/issue.h"
#include "backends/shape.h"

namespace refrain::backends {

using capture::OperationKind;
using capture::OperationView;
namespace words = capture::words;

namespace {

void* pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<void*>(address);
}

bool is_empty_fill(const OperationView& operation) noexcept {
  return operation.kind() == OperationKind::kPointerFillRect ? operation.as<words::PointerFillRect>().row_bytes == 0
                                                             : operation.as<words::PointerFill>().bytes == 0;
}

/// Versions of the runtime disagree whether the width of a fill is in bytes or in elements: bytes that are all the same
/// are filled as bytes, which is the same to all of them.
bool fill_parameters(const OperationView& operation, hipMemsetParams* fill) noexcept {
  const auto pattern = operation.value_of(1);
  if (pattern.size() != 1 && pattern.size() != 2 && pattern.size() != 4) {
    return false;
  }
  bool bytes = true;
  for (const std::byte each : pattern) {
    bytes = bytes && each == pattern[0];
  }
  *fill = {};
  fill->dst = pointer(operation.handle_of(0));
  fill->elementSize = bytes ? 1U : static_cast<unsigned>(pattern.size());
  if (operation.kind() == OperationKind::kPointerFillRect) {
    const auto& rows = operation.as<words::PointerFillRect>();
    fill->width = rows.row_bytes / fill->elementSize;
    fill->height = rows.rows;
    fill->pitch = rows.pitch;
  } else {
    const std::uint64_t size = operation.as<words::PointerFill>().bytes;
    fill->width = size / fill->elementSize;
    fill->height = 1;
    fill->pitch = size;
  }
  std::memcpy(&fill->value, pattern.data(), fill->elementSize);
  return true;
}

}  // namespace

hipError_t HipGraphNode::add(const HipDriver& driver, hipGraph_t graph, std::span<const hipGraphNode_t> before,
                             int /*device*/, const OperationView& operation) {
  kind_ = operation.kind();
  if (!arguments_fit(operation)) {
    return hipErrorInvalidValue;
  }
  switch (kind_) {
    case OperationKind::kKernel: {
      KernelLaunch call;
      if (!call.read(operation)) {
        return hipErrorInvalidValue;
      }
      // Both kinds of names for kernels are taken here: the program's function, and a module's.
      kernel_.func = pointer(operation.header().function_handle);
      kernel_.gridDim = {call.grid.x, call.grid.y, call.grid.z};
      kernel_.blockDim = {call.block.x, call.block.y, call.block.z};
      kernel_.sharedMemBytes = call.shared_bytes;
      kernel_.kernelParams = call.parameters.data();
      const hipError_t status =
          quiet(driver, driver.hipGraphAddKernelNode(&handle_, graph, before.data(), before.size(), &kernel_));
      kernel_.kernelParams = nullptr;
      return status;
    }
    case OperationKind::kPointerCopy: {
      const std::uint64_t bytes = operation.as<words::PointerCopy>().bytes;
      if (bytes == 0) {
        return hipSuccess;
      }
      return quiet(driver, driver.hipGraphAddMemcpyNode1D(&handle_, graph, before.data(), before.size(),
                                                          pointer(operation.handle_of(0)),
                                                          pointer(operation.handle_of(1)), bytes, hipMemcpyDefault));
    }
    case OperationKind::kPointerCopyRect: {
      const hipMemcpy3DParms copy = rows_of(operation);
      return copy.extent.width == 0
                 ? hipSuccess
                 : quiet(driver, driver.hipGraphAddMemcpyNode(&handle_, graph, before.data(), before.size(), &copy));
    }
    case OperationKind::kPointerFill:
    case OperationKind::kPointerFillRect: {
      if (is_empty_fill(operation)) {
        return hipSuccess;
      }
      hipMemsetParams fill{};
      return fill_parameters(operation, &fill)
                 ? quiet(driver, driver.hipGraphAddMemsetNode(&handle_, graph, before.data(), before.size(), &fill))
                 : hipErrorInvalidValue;
    }
    case OperationKind::kHostFunction: {
      HostFunction call;
      if (!call.read(operation)) {
        return hipErrorInvalidValue;
      }
      const hipHostNodeParams node{call.function, call.data};
      return quiet(driver, driver.hipGraphAddHostNode(&handle_, graph, before.data(), before.size(), &node));
    }
    case OperationKind::kPointerMigrate: return hipSuccess;  // advice, which need not be followed
    default: return hipErrorNotSupported;
  }
}

hipError_t HipGraphNode::change(const HipDriver& driver, hipGraphExec_t executable, int /*device*/,
                                const OperationView& operation) {
  if (operation.kind() != kind_ || !arguments_fit(operation)) {
    return hipErrorInvalidValue;
  }
  switch (kind_) {
    case OperationKind::kKernel: {
      KernelLaunch call;
      if (!call.read(operation)) {
        return hipErrorInvalidValue;
      }
      kernel_.gridDim = dim3(call.grid.x, call.grid.y, call.grid.z);
      kernel_.kernelParams = call.parameters.data();
      const hipError_t status = quiet(driver, driver.hipGraphExecKernelNodeSetParams(executable, handle_, &kernel_));
      kernel_.kernelParams = nullptr;
      return status;
    }
    case OperationKind::kPointerCopy:  // not of rows: as on CUDA
      return quiet(driver, driver.hipGraphExecMemcpyNodeSetParams1D(
                               executable, handle_, pointer(operation.handle_of(0)), pointer(operation.handle_of(1)),
                               operation.as<words::PointerCopy>().bytes, hipMemcpyDefault));
    case OperationKind::kPointerFill: {
      hipMemsetParams fill{};
      return fill_parameters(operation, &fill)
                 ? quiet(driver, driver.hipGraphExecMemsetNodeSetParams(executable, handle_, &fill))
                 : hipErrorInvalidValue;
    }
    case OperationKind::kHostFunction: {
      HostFunction call;
      if (!call.read(operation)) {
        return hipErrorInvalidValue;
      }
      const hipHostNodeParams node{call.function, call.data};
      return quiet(driver, driver.hipGraphExecHostNodeSetParams(executable, handle_, &node));
    }
    default: return hipErrorNotSupported;
  }
}

}  // namespace refrain::backends
