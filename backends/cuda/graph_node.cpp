#include "backends/cuda/graph_node.h"

#include <cstring>

#include "backends/cuda/cuda_api.h"
#include "backends/cuda/function_kind.h"
#include "backends/shape.h"

namespace refrain::backends {

using capture::OperationKind;
using capture::OperationView;
namespace words = capture::words;

CUDA_MEMCPY3D_v2 copy_parameters(const OperationView& operation) noexcept {
  CUDA_MEMCPY3D_v2 copy{};
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = operation.handle_of(0);
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = operation.handle_of(1);
  if (operation.kind() == OperationKind::kPointerCopyRect) {
    const auto& rows = operation.as<words::PointerCopyRect>();
    copy.WidthInBytes = rows.row_bytes;
    copy.Height = rows.rows;
    copy.Depth = rows.slices;
    copy.dstPitch = rows.to_pitch;
    copy.dstHeight = rows.to_rows;
    copy.srcPitch = rows.from_pitch;
    copy.srcHeight = rows.from_rows;
  } else {
    copy.WidthInBytes = operation.as<words::PointerCopy>().bytes;
    copy.Height = 1;
    copy.Depth = 1;
  }
  return copy;
}

namespace {

bool is_empty_fill(const OperationView& operation) noexcept {
  return operation.kind() == OperationKind::kPointerFillRect ? operation.as<words::PointerFillRect>().row_bytes == 0
                                                             : operation.as<words::PointerFill>().bytes == 0;
}

bool fill_parameters(const OperationView& operation, CUDA_MEMSET_NODE_PARAMS_v1* fill) noexcept {
  const auto pattern = operation.value_of(1);
  if (pattern.size() != 1 && pattern.size() != 2 && pattern.size() != 4) {
    return false;
  }
  *fill = {};
  fill->dst = operation.handle_of(0);
  fill->elementSize = static_cast<unsigned>(pattern.size());
  if (operation.kind() == OperationKind::kPointerFillRect) {
    const auto& rows = operation.as<words::PointerFillRect>();
    fill->width = rows.row_bytes / pattern.size();
    fill->height = rows.rows;
    fill->pitch = rows.pitch;
  } else {
    fill->width = operation.as<words::PointerFill>().bytes / pattern.size();
    fill->height = 1;
  }
  std::memcpy(&fill->value, pattern.data(), pattern.size());
  return true;
}

/// A launch has the attributes of its stream; those of its own, which come later, count more.
CUresult take_attributes(const CudaDriver& driver, CUgraphNode node, const CudaStream& stream) noexcept {
  if (!stream.attributes.load(std::memory_order_relaxed)) {
    return CUDA_SUCCESS;
  }
  if (driver.cuStreamGetAttribute == nullptr) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  for (const auto id : {CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
                        CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN}) {
    CUlaunchAttributeValue value{};
    // What a stream of this device cannot have, it has not.
    if (driver.cuStreamGetAttribute(stream.handle, id, &value) == CUDA_SUCCESS) {
      if (const CUresult status = driver.cuGraphKernelNodeSetAttribute(node, id, &value); status != CUDA_SUCCESS) {
        return status;
      }
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

void GraphNode::set_function(const CudaDriver& driver, CUcontext context, const OperationView& operation) noexcept {
  auto* function = reinterpret_cast<CUfunction>(operation.header().function_handle);
  const bool of_library = kind_of(driver, function) == FunctionKind::kKernel;
  kernel_.func = of_library ? nullptr : function;
  kernel_.kern = of_library ? reinterpret_cast<CUkernel>(function) : nullptr;
  kernel_.ctx = of_library ? context : nullptr;
}

CUresult GraphNode::add_kernel(const CudaDriver& driver, CUgraph graph, std::span<const CUgraphNode> before,
                               CUcontext context, const OperationView& operation) {
  KernelCall call;
  if (!call.read(operation)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  kernel_ = {};
  set_function(driver, context, operation);
  kernel_.gridDimX = call.grid.x;
  kernel_.gridDimY = call.grid.y;
  kernel_.gridDimZ = call.grid.z;
  kernel_.blockDimX = call.block.x;
  kernel_.blockDimY = call.block.y;
  kernel_.blockDimZ = call.block.z;
  kernel_.sharedMemBytes = call.shared_bytes;
  kernel_.kernelParams = call.parameters.data();
  CUresult status = driver.cuGraphAddKernelNode_v2(&handle_, graph, before.data(), before.size(), &kernel_);
  kernel_.kernelParams = nullptr;
  if (status == CUDA_SUCCESS) {
    status = take_attributes(driver, handle_, Stream<CudaApi>::of(operation.header().queue_handle));
  }
  for (const CUlaunchAttribute& attribute : call.attributes) {
    // That a launch may begin early is said by its edge, not by the node.
    if (status == CUDA_SUCCESS && attribute.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      status = driver.cuGraphKernelNodeSetAttribute(handle_, attribute.id, &attribute.value);
    }
  }
  return status;
}

CUresult GraphNode::add(const CudaDriver& driver, CUgraph graph, std::span<const CUgraphNode> before, CUcontext context,
                        const OperationView& operation) {
  kind_ = operation.kind();
  if (!arguments_fit(operation)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  switch (kind_) {
    case OperationKind::kKernel: return add_kernel(driver, graph, before, context, operation);
    case OperationKind::kPointerCopy:
    case OperationKind::kPointerCopyRect:
      copy_ = copy_parameters(operation);
      if (copy_.WidthInBytes == 0) {
        return CUDA_SUCCESS;
      }
      return driver.cuGraphAddMemcpyNode(&handle_, graph, before.data(), before.size(), &copy_, context);
    case OperationKind::kPointerFill:
    case OperationKind::kPointerFillRect:
      if (is_empty_fill(operation)) {
        return CUDA_SUCCESS;
      }
      return fill_parameters(operation, &fill_)
                 ? driver.cuGraphAddMemsetNode(&handle_, graph, before.data(), before.size(), &fill_, context)
                 : CUDA_ERROR_INVALID_VALUE;
    case OperationKind::kHostFunction: {
      HostFunction call;
      if (!call.read(operation)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      const CUDA_HOST_NODE_PARAMS node{call.function, call.data};
      return driver.cuGraphAddHostNode(&handle_, graph, before.data(), before.size(), &node);
    }
    case OperationKind::kPointerMigrate: return CUDA_SUCCESS;  // advice, which need not be followed
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult GraphNode::change(const CudaDriver& driver, CUgraphExec executable, CUcontext context,
                           const OperationView& operation) {
  if (operation.kind() != kind_) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  switch (kind_) {
    case OperationKind::kKernel: {
      KernelCall call;
      if (!call.read(operation)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      if (const auto function = operation.header().function_handle;
          function != reinterpret_cast<capture::Handle>(kernel_.func) &&
          function != reinterpret_cast<capture::Handle>(kernel_.kern)) {
        set_function(driver, context, operation);
      }
      kernel_.gridDimX = call.grid.x;
      kernel_.gridDimY = call.grid.y;
      kernel_.gridDimZ = call.grid.z;
      kernel_.kernelParams = call.parameters.data();
      const CUresult status = driver.cuGraphExecKernelNodeSetParams_v2(executable, handle_, &kernel_);
      kernel_.kernelParams = nullptr;
      return status;
    }
    case OperationKind::kPointerCopy:  // not of rows: the driver changes copies and fills of one dimension only
      if (driver.cuGraphExecMemcpyNodeSetParams == nullptr) {
        return CUDA_ERROR_NOT_SUPPORTED;
      }
      copy_ = copy_parameters(operation);
      return driver.cuGraphExecMemcpyNodeSetParams(executable, handle_, &copy_, context);
    case OperationKind::kPointerFill:
      if (driver.cuGraphExecMemsetNodeSetParams == nullptr || !fill_parameters(operation, &fill_)) {
        return CUDA_ERROR_NOT_SUPPORTED;
      }
      return driver.cuGraphExecMemsetNodeSetParams(executable, handle_, &fill_, context);
    case OperationKind::kHostFunction: {
      HostFunction call;
      if (!call.read(operation)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      const CUDA_HOST_NODE_PARAMS node{call.function, call.data};
      return driver.cuGraphExecHostNodeSetParams(executable, handle_, &node);
    }
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace refrain::backends
