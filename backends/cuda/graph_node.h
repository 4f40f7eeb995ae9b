// Nodes of a CUDA graph, made from recorded operations.
#pragma once

#include <span>

#include "backends/cuda/driver_api.h"
#include "backends/cuda/kernel_call.h"
#include "capture/operation.h"

namespace refrain::backends {

/// A copy of bytes or rows as the driver wants it. Unified addresses tell by themselves where they are.
[[nodiscard]] CUDA_MEMCPY3D_v2 copy_parameters(const capture::OperationView& operation) noexcept;

/// One node with work. Its parameters are kept, so that a change of values is one call.
class GraphNode {
 public:
  /// Adds the node to `graph`, after `before`. The context must be current. `empty()` afterwards: the
  /// operation has no work (a copy of nothing) and no node.
  CUresult add(const CudaDriver& driver, CUgraph graph, std::span<const CUgraphNode> before, CUcontext context,
               const capture::OperationView& operation);
  /// Gives the node of an instantiated graph new values, and a kernel node another kernel with the same parameters, for
  /// later launches.
  CUresult change(const CudaDriver& driver, CUgraphExec executable, CUcontext context,
                  const capture::OperationView& operation);

  [[nodiscard]] CUgraphNode handle() const noexcept { return handle_; }
  [[nodiscard]] bool empty() const noexcept { return handle_ == nullptr; }

 private:
  CUresult add_kernel(const CudaDriver& driver, CUgraph graph, std::span<const CUgraphNode> before, CUcontext context,
                      const capture::OperationView& operation);
  void set_function(const CudaDriver& driver, CUcontext context, const capture::OperationView& operation) noexcept;

  CUgraphNode handle_ = nullptr;
  capture::OperationKind kind_ = capture::OperationKind::kUnknown;
  union {
    CUDA_KERNEL_NODE_PARAMS_v2 kernel_{};
    CUDA_MEMCPY3D_v2 copy_;
    CUDA_MEMSET_NODE_PARAMS_v1 fill_;
  };
};

}  // namespace refrain::backends
