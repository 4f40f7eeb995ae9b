// Graphs that the program makes itself.
#include "test/sim/cuda/face.h"

using sim::Graph;
using sim::Lock;
using sim::Node;
using sim::state;
using sim::Status;
using sim::Task;

namespace sim::cuda {

Status kernel_task(const CUDA_KERNEL_NODE_PARAMS_v2& wanted, Task* task) {
  // Each kind of handle in its own field.
  const Function* function =
      wanted.func != nullptr ? state().functions.find(wanted.func) : state().kernels.find(wanted.kern);
  if (function == nullptr) {
    violation("a kernel node of a kernel that is none");
    return Status::kInvalidHandle;
  }
  task->kind = Task::Kind::kKernel;
  task->kernel = function->kernel;
  task->shape = {{wanted.gridDimX, wanted.gridDimY, wanted.gridDimZ},
                 {wanted.blockDimX, wanted.blockDimY, wanted.blockDimZ},
                 wanted.sharedMemBytes};
  if (!function->kernel->takes(task->shape)) {
    return Status::kInvalidValue;
  }
  if (const Status status = launched_with(*function, task); status != Status::kOk) {
    return status;
  }
  return read_arguments(*function->kernel, wanted.kernelParams, wanted.extra, &task->arguments);
}

namespace {

/// Adds a node after what `make_task` has made its task.
template <class MakeTask>
CUresult add(CUgraphNode* result_node, CUgraph graph_handle, const CUgraphNode* before, std::size_t count,
             MakeTask&& make_task) {
  const Lock lock;
  Graph* graph = nullptr;
  Status status = find_graph(graph_handle, &graph);
  std::vector<Node*> predecessors;
  if (status == Status::kOk) {
    status = find_nodes(*graph, reinterpret_cast<const void* const*>(before), count, &predecessors);
  }
  Task task;
  if (status == Status::kOk) {
    status = make_task(&task);
  }
  if (status == Status::kOk) {
    Node* made = state().nodes.make();
    add_node(*graph, *made, std::move(task), predecessors);
    *result_node = reinterpret_cast<CUgraphNode>(made);
  }
  return result(status);
}

Status check_context(CUcontext context) {
  if (find_context(context) == nullptr) {
    violation("a node of a context that is none");
    return Status::kInvalidContext;
  }
  return Status::kOk;
}

Status check_memory(const Box& box, std::size_t bytes, const char* what) {
  const Allocation* found = find_allocation(box.start);
  if (found == nullptr || !within(*found, box.start, bytes)) {
    // Memory may go while a graph for it is being made: an error, which is all that comes of it.
    if (!was_freed(box.start)) {
      violation("%s names memory that is not the device's, or pinned", what);
    }
    return Status::kInvalidValue;
  }
  return Status::kOk;
}

Status copy_node_task(const CUDA_MEMCPY3D& wanted, CUcontext context, Task* task) {
  Copy described;
  Status status = read_copy(wanted, &described);
  if (status != Status::kOk || described.bytes == 0 || described.height == 0 || described.depth == 0) {
    return status != Status::kOk ? status : Status::kInvalidValue;
  }
  *task = copy_task(described.to, described.from, described.bytes, described.height, described.depth);
  for (const Box& box : {described.to, described.from}) {
    const std::size_t bytes = (described.height - 1) * box.pitch + (described.depth - 1) * box.slice + described.bytes;
    if (status == Status::kOk) {
      status = check_memory(box, bytes, "a copy node");
    }
  }
  return status == Status::kOk ? check_context(context) : status;
}

Status fill_node_task(const CUDA_MEMSET_NODE_PARAMS& wanted, CUcontext context, Task* task) {
  const std::size_t bytes = wanted.width * wanted.elementSize;
  if (wanted.height == 0 || bytes == 0 ||
      (wanted.elementSize != 1 && wanted.elementSize != 2 && wanted.elementSize != 4)) {
    return Status::kInvalidValue;
  }
  *task = fill_task(wanted.dst, &wanted.value, wanted.elementSize, bytes);
  task->to.pitch = wanted.pitch;
  task->height = wanted.height;
  const Status status = check_memory(task->to, (wanted.height - 1) * wanted.pitch + bytes, "a fill node");
  return status == Status::kOk ? check_context(context) : status;
}

template <class MakeTask>
CUresult change(CUgraphExec handle, CUgraphNode node, MakeTask&& make_task) {
  const Lock lock;
  Exec* exec = nullptr;
  Task task;
  Status status = find_exec(handle, &exec);
  if (status == Status::kOk) {
    status = make_task(&task);
  }
  return result(status == Status::kOk ? change_node(*exec, node, std::move(task)) : status);
}

Status launch(CUgraphExec exec, CUstream stream, bool per_thread) {
  const AmongOthers inside;
  return launch_graph(exec, stream, per_thread);
}

CUresult instantiate(CUgraphExec* handle, CUgraph graph) {
  const Alone inside;
  if (Lock lock; true) {
    wait_for_graph_memory(lock);
  }
  Exec* exec = nullptr;
  const Status status = instantiate_graph(graph, &exec);
  if (status == Status::kOk) {
    *handle = reinterpret_cast<CUgraphExec>(exec);
  }
  return result(status);
}

}  // namespace
}  // namespace sim::cuda

FACE cuGraphCreate(CUgraph* graph, unsigned) {
  ENTER_SUBMISSION(cuGraphCreate);
  const Lock lock;
  *graph = reinterpret_cast<CUgraph>(state().graphs.make());
  return CUDA_SUCCESS;
}
FACE cuGraphDestroy(CUgraph graph) {
  ENTER(cuGraphDestroy);
  return sim::cuda::result(sim::destroy_graph(graph));
}
FACE cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                             const CUDA_KERNEL_NODE_PARAMS_v2* wanted) {
  ENTER_SUBMISSION(cuGraphAddKernelNode_v2);
  return sim::cuda::add(node, graph, before, count, [&](Task* task) { return sim::cuda::kernel_task(*wanted, task); });
}
FACE cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                          const CUDA_MEMCPY3D* wanted, CUcontext context) {
  ENTER_SUBMISSION(cuGraphAddMemcpyNode);
  return sim::cuda::add(node, graph, before, count,
                        [&](Task* task) { return sim::cuda::copy_node_task(*wanted, context, task); });
}
FACE cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                          const CUDA_MEMSET_NODE_PARAMS* wanted, CUcontext context) {
  ENTER_SUBMISSION(cuGraphAddMemsetNode);
  return sim::cuda::add(node, graph, before, count,
                        [&](Task* task) { return sim::cuda::fill_node_task(*wanted, context, task); });
}
FACE cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                        const CUDA_HOST_NODE_PARAMS* wanted) {
  ENTER_SUBMISSION(cuGraphAddHostNode);
  return sim::cuda::add(node, graph, before, count, [&](Task* task) {
    *task = sim::host_task(wanted->fn, wanted->userData);
    return Status::kOk;
  });
}
FACE cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count) {
  ENTER_SUBMISSION(cuGraphAddEmptyNode);
  return sim::cuda::add(node, graph, before, count, [](Task*) { return Status::kOk; });
}
FACE cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                              CUgraph child) {
  ENTER_SUBMISSION(cuGraphAddChildGraphNode);
  const Lock lock;
  Graph* found = nullptr;
  std::vector<Node*> predecessors;
  Status status = sim::find_graph(graph, &found);
  if (status == Status::kOk) {
    status = sim::find_nodes(*found, reinterpret_cast<const void* const*>(before), count, &predecessors);
  }
  Node* made = nullptr;
  if (status == Status::kOk) {
    status = sim::add_child(*found, predecessors, child, &made);
  }
  if (status == Status::kOk) {
    *node = reinterpret_cast<CUgraphNode>(made);
  }
  return sim::cuda::result(status);
}
FACE cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                               const CUgraphEdgeData* edges, std::size_t count) {
  ENTER_SUBMISSION(cuGraphAddDependencies_v2);
  return sim::cuda::result(sim::add_edges(
      graph, reinterpret_cast<const void* const*>(from), reinterpret_cast<const void* const*>(to), count,
      [&](std::size_t i) { return edges != nullptr && edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC; }));
}
FACE cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                                   const CUkernelNodeAttrValue* value) {
  ENTER_SUBMISSION(cuGraphKernelNodeSetAttribute);
  const Lock lock;
  Node* node = state().nodes.find(handle);
  if (node == nullptr || node->task.kind != Task::Kind::kKernel) {
    sim::violation("an attribute of a node that is no kernel");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  // As the header says of each.
  if (attribute == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  sim::give_attribute(&node->task, attribute, sim::cuda::number_of(attribute, *value));
  return CUDA_SUCCESS;
}
FACE cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  ENTER_SUBMISSION(cuGraphInstantiateWithFlags);
  return sim::cuda::instantiate(exec, graph);
}
FACE cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned enabled) {
  ENTER(cuGraphNodeSetEnabled);
  const Lock lock;
  sim::Exec* exec = nullptr;
  const Status status = sim::find_exec(handle, &exec);
  sim::ExecNode* copy =
      status == Status::kOk ? sim::find_copy(*exec, reinterpret_cast<const sim::Node*>(node)) : nullptr;
  if (copy == nullptr || copy->task.kind == Task::Kind::kHost) {
    return status == Status::kOk ? CUDA_ERROR_INVALID_VALUE : sim::cuda::result(status);
  }
  copy->enabled = enabled != 0;
  return CUDA_SUCCESS;
}
FACE cuGraphExecDestroy(CUgraphExec exec) {
  ENTER(cuGraphExecDestroy);
  const sim::Alone inside;
  return sim::cuda::result(sim::destroy_exec(exec));
}
SUBMIT_TWICE(cuGraphLaunch, (CUgraphExec exec, CUstream stream), sim::cuda::launch(exec, stream, per_thread))
SUBMIT_TWICE(cuGraphUpload, (CUgraphExec exec, CUstream stream), sim::upload_graph(exec, stream, per_thread))

FACE cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* wanted) {
  ENTER_SUBMISSION(cuGraphExecKernelNodeSetParams_v2);
  return sim::cuda::change(exec, node, [&](Task* task) { return sim::cuda::kernel_task(*wanted, task); });
}
FACE cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* wanted,
                                    CUcontext context) {
  ENTER_SUBMISSION(cuGraphExecMemcpyNodeSetParams);
  return sim::cuda::change(exec, node, [&](Task* task) { return sim::cuda::copy_node_task(*wanted, context, task); });
}
FACE cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* wanted,
                                    CUcontext context) {
  ENTER_SUBMISSION(cuGraphExecMemsetNodeSetParams);
  return sim::cuda::change(exec, node, [&](Task* task) { return sim::cuda::fill_node_task(*wanted, context, task); });
}
FACE cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* wanted) {
  ENTER_SUBMISSION(cuGraphExecHostNodeSetParams);
  return sim::cuda::change(exec, node, [&](Task* task) {
    *task = sim::host_task(wanted->fn, wanted->userData);
    return Status::kOk;
  });
}
FACE cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  ENTER_SUBMISSION(cuGraphExecUpdate_v2);
  const Status status = sim::update_exec(exec, graph);
  *info = {};
  info->result = status == Status::kOk ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  return sim::cuda::result(status);
}
