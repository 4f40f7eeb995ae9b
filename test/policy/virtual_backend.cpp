#include "test/policy/virtual_backend.h"

namespace refrain::policy {

using capture::OperationKind;
using capture::OperationView;

class VirtualBackend::Buffer : public backends::CommandBuffer {
 public:
  Buffer(VirtualBackend& backend, const DeviceGraph& graph, std::size_t nodes) noexcept
      : backend_(backend), graph_(graph), nodes_(nodes) {}

  backends::Status enqueue(std::span<const backends::Event> waits, backends::Event* done) noexcept override {
    const Costs& costs = backend_.costs_;
    VirtualTime& time = backend_.time_;
    time.stall();
    for (const backends::Event wait : waits) {
      time.busy(costs.wait);
      backend_.device_.wait(graph_.main, wait);
    }
    time.busy(costs.graph_launch.of(nodes_));
    end_ = backend_.device_.launch(graph_, time.now());
    if (done != nullptr) {
      time.busy(costs.record);
      *done = end_;
    }
    return {};
  }
  backends::Status update(std::span<const backends::NodeUpdate> updates) noexcept override {
    if (!backend_.costs_.can_update) {
      return {-1};
    }
    backend_.time_.busy(backend_.costs_.update * updates.size());
    return {};
  }
  [[nodiscard]] bool busy() const noexcept override { return end_ > backend_.time_.now(); }

 private:
  VirtualBackend& backend_;
  DeviceGraph graph_;
  std::size_t nodes_;
  Ns end_ = 0;
};

backends::Capabilities VirtualBackend::capabilities(const capture::QueueInfo& /*queue*/) noexcept {
  backends::Capabilities result;
  result.native = true;
  result.update_arguments = costs_.can_update;
  result.simultaneous_use = true;
  return result;
}

backends::Status VirtualBackend::record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                                        std::unique_ptr<backends::CommandBuffer>* result) noexcept {
  time_.busy(costs_.instantiate.of(nodes.size()));
  std::vector<std::uint32_t> place(graph.size(), ~0U);
  GraphLength length;
  DeviceGraph made;
  made.main = queue_of(graph.operation(nodes.front()));
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    place[nodes[i]] = i;
    std::vector<std::uint32_t> before;
    for (const capture::NodeIndex node : graph.predecessors(nodes[i])) {
      if (place[node] != ~0U) {
        before.push_back(place[node]);
      }
    }
    const OperationView operation = graph.operation(nodes[i]);
    made.uses[queue_of(operation)] = true;
    const bool work = operation.kind() == OperationKind::kKernel;
    length.add(before, work ? duration_of(operation) + costs_.graph_node : 0);
  }
  made.length = length.length();
  *result = std::make_unique<Buffer>(*this, made, nodes.size());
  return {};
}

Ns VirtualBackend::submit(const OperationView& operation, Ns event) noexcept {
  const std::size_t queue = queue_of(operation);
  switch (operation.kind()) {
    case OperationKind::kEventRecord: time_.busy(costs_.record); break;
    case OperationKind::kEventWait:
      time_.busy(costs_.wait);
      device_.wait(queue, event);
      break;
    default:
      time_.stall();
      time_.busy(costs_.eager_launch);
      device_.kernel(queue, duration_of(operation), time_.now());
  }
  return device_.record(queue);
}

backends::Status VirtualBackend::issue(const OperationView& operation, std::span<const backends::Event> waits,
                                       backends::Event* done) noexcept {
  const bool wait = operation.kind() == OperationKind::kEventWait;
  if (!wait) {
    for (const backends::Event event : waits) {
      time_.busy(costs_.wait);
      device_.wait(queue_of(operation), event);
    }
  }
  const Ns end = submit(operation, wait && !waits.empty() ? waits.front() : 0);
  if (done != nullptr) {
    *done = end;
  }
  return {};
}

}  // namespace refrain::policy
