// What is asked of graphs and their nodes, and changed in them before they are executable.
#include <algorithm>

#include "test/sim/cuda/face.h"

using sim::Graph;
using sim::Lock;
using sim::Node;
using sim::state;
using sim::Status;
using sim::Task;

namespace {

/// Gives as many nodes as there is room for, or their number if there is no room at all.
CUresult give(const std::vector<Node*>& found, CUgraphNode* nodes, std::size_t* count) {
  if (nodes != nullptr) {
    const std::size_t given = std::min(*count, found.size());
    std::transform(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(given), nodes,
                   [](Node* node) { return reinterpret_cast<CUgraphNode>(node); });
    std::fill(nodes + given, nodes + *count, nullptr);
  }
  *count = found.size();
  return CUDA_SUCCESS;
}

CUgraphNodeType type_of(const Task& task) noexcept {
  switch (task.kind) {
    case Task::Kind::kKernel: return CU_GRAPH_NODE_TYPE_KERNEL;
    case Task::Kind::kCopy: return CU_GRAPH_NODE_TYPE_MEMCPY;
    case Task::Kind::kFill: return CU_GRAPH_NODE_TYPE_MEMSET;
    case Task::Kind::kHost: return CU_GRAPH_NODE_TYPE_HOST;
    case Task::Kind::kFree: return CU_GRAPH_NODE_TYPE_MEM_FREE;
    default: return CU_GRAPH_NODE_TYPE_EMPTY;
  }
}

}  // namespace

FACE cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  ENTER(cuGraphGetNodes);
  const Lock lock;
  Graph* graph = nullptr;
  const Status status = sim::find_graph(handle, &graph);
  return status != Status::kOk ? sim::cuda::result(status) : give(graph->nodes, nodes, count);
}
FACE cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  ENTER(cuGraphGetRootNodes);
  const Lock lock;
  Graph* graph = nullptr;
  if (const Status status = sim::find_graph(handle, &graph); status != Status::kOk) {
    return sim::cuda::result(status);
  }
  std::vector<Node*> roots;
  std::copy_if(graph->nodes.begin(), graph->nodes.end(), std::back_inserter(roots),
               [](const Node* node) { return node->before.empty(); });
  return give(roots, nodes, count);
}
FACE cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* edges, std::size_t* count) {
  ENTER(cuGraphNodeGetDependencies_v2);
  const Lock lock;
  const Node* node = state().nodes.find(handle);
  if (node == nullptr) {
    sim::violation("dependencies of a node that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (edges != nullptr) {
    std::fill(edges, edges + *count, CUgraphEdgeData{});
  }
  return give(node->before, nodes, count);
}
FACE cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  ENTER(cuGraphNodeGetType);
  const Lock lock;
  const Node* node = state().nodes.find(handle);
  if (node == nullptr) {
    sim::violation("the type of a node that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  *type = type_of(node->task);
  return CUDA_SUCCESS;
}
FACE cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData*,
                                  std::size_t count) {
  ENTER_SUBMISSION(cuGraphRemoveDependencies_v2);
  return sim::cuda::result(sim::remove_edges(graph, reinterpret_cast<const void* const*>(from),
                                             reinterpret_cast<const void* const*>(to), count));
}
FACE cuGraphDestroyNode(CUgraphNode node) {
  ENTER(cuGraphDestroyNode);
  return sim::cuda::result(sim::destroy_node(node));
}
FACE cuGraphClone(CUgraph* clone, CUgraph graph) {
  ENTER_SUBMISSION(cuGraphClone);
  Graph* made = nullptr;
  const Status status = sim::clone_graph(graph, &made);
  *clone = reinterpret_cast<CUgraph>(made);
  return sim::cuda::result(status);
}
FACE cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* wanted) {
  ENTER_SUBMISSION(cuGraphHostNodeSetParams);
  const Lock lock;
  return sim::cuda::result(sim::change_graph_node(node, sim::host_task(wanted->fn, wanted->userData)));
}
FACE cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* wanted) {
  ENTER_SUBMISSION(cuGraphKernelNodeSetParams_v2);
  const Lock lock;
  Task task;
  const Status status = sim::cuda::kernel_task(*wanted, &task);
  return sim::cuda::result(status == Status::kOk ? sim::change_graph_node(node, std::move(task)) : status);
}
