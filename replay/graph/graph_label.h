// What a graph does, for people: "conv2d, bias x2, relu and 4 more".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/operation.h"
#include "replay/layer_hooks.h"

namespace refrain::replay {

/// Not thread-safe.
class GraphLabel {
 public:
  /// From any occurrence; the first one counts. May throw std::bad_alloc.
  void learn(std::span<const capture::OperationView> operations);
  /// Kernels by their names as far as the layer still knows them. Empty if nothing was learnt.
  [[nodiscard]] std::string text(LayerHooks& hooks) const;

 private:
  /// So many of the same work.
  struct Part {
    capture::OperationKind kind{};
    capture::FunctionId function = 0;
    std::uint32_t count = 0;
  };
  std::vector<Part> parts_;  ///< in the order in which they come first
};

}  // namespace refrain::replay
