// Nodes of a HIP graph, made from recorded operations.
#pragma once

#include <span>

#include "backends/hip/driver_api.h"
#include "backends/streams/operation.h"
#include "capture/operation.h"

namespace refrain::backends {

/// One node with work. A kernel's parameters are kept, so that a change of values is one call.
class HipGraphNode {
 public:
  /// Adds the node to `graph`, after `before`. The device must be current. `empty()` afterwards: the operation has no
  /// work (a copy of nothing) and no node.
  hipError_t add(const HipDriver& driver, hipGraph_t graph, std::span<const hipGraphNode_t> before, int device,
                 const capture::OperationView& operation);
  /// Gives the node of an instantiated graph new values, for later launches.
  hipError_t change(const HipDriver& driver, hipGraphExec_t executable, int device,
                    const capture::OperationView& operation);

  [[nodiscard]] hipGraphNode_t handle() const noexcept { return handle_; }
  [[nodiscard]] bool empty() const noexcept { return handle_ == nullptr; }

 private:
  hipGraphNode_t handle_ = nullptr;
  capture::OperationKind kind_ = capture::OperationKind::kUnknown;
  hipKernelNodeParams kernel_{};
};

}  // namespace refrain::backends
