// Graphs: nodes, edges, executable copies. A launch takes the parameters as they are at that moment.
#include <algorithm>
#include <array>

#include "test/cuda/fake_driver/memory.h"
#include "test/cuda/fake_driver/twice.h"

namespace fake {

Node* add_node(Graph& graph, Task task, std::vector<Node*> before) {
  Node* made = state().nodes.make();
  made->graph = &graph;
  made->task = std::move(task);
  std::sort(before.begin(), before.end());
  before.erase(std::unique(before.begin(), before.end()), before.end());
  made->before = std::move(before);
  graph.nodes.push_back(made);
  return made;
}

namespace {

CUresult find_graph(CUgraph handle, Graph** graph) {
  *graph = state().graphs.find(handle);
  if (*graph == nullptr) {
    violation("use of a graph that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  return CUDA_SUCCESS;
}

/// Adds a node after what `make_task` has made its task.
template <class MakeTask>
CUresult add(CUgraphNode* result, CUgraph graph_handle, const CUgraphNode* before, std::size_t count,
             MakeTask&& make_task) {
  const Lock lock;
  Graph* graph = nullptr;
  CUresult status = find_graph(graph_handle, &graph);
  std::vector<Node*> predecessors;
  for (std::size_t i = 0; i < count && status == CUDA_SUCCESS; ++i) {
    predecessors.push_back(state().nodes.find(before[i]));
    if (predecessors.back() == nullptr || predecessors.back()->graph != graph) {
      violation("an edge from a node that is none of the graph");
      status = CUDA_ERROR_INVALID_VALUE;
    }
  }
  Task task;
  if (status == CUDA_SUCCESS) {
    status = make_task(&task);
  }
  if (status == CUDA_SUCCESS) {
    *result = reinterpret_cast<CUgraphNode>(add_node(*graph, std::move(task), std::move(predecessors)));
  }
  return status;
}

CUresult kernel_task(const CUDA_KERNEL_NODE_PARAMS_v2& wanted, Task* task) {
  // Each kind of handle in its own field.
  const Function* function =
      wanted.func != nullptr ? state().functions.find(wanted.func) : state().kernels.find(wanted.kern);
  if (function == nullptr) {
    violation("a kernel node of a kernel that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  task->kind = Task::Kind::kKernel;
  task->kernel = function->kernel;
  task->threads =
      wanted.gridDimX * wanted.gridDimY * wanted.gridDimZ * wanted.blockDimX * wanted.blockDimY * wanted.blockDimZ;
  if (task->threads == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return read_arguments(*function->kernel, wanted.kernelParams, wanted.extra, &task->arguments);
}

CUresult check_context(CUcontext context) {
  const auto& all = state().contexts;
  if (std::find(all.begin(), all.end(), reinterpret_cast<Context*>(context)) == all.end()) {
    violation("a node of a context that is none");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return CUDA_SUCCESS;
}

CUresult copy_task(const CUDA_MEMCPY3D& wanted, CUcontext context, Task* task) {
  task->kind = Task::Kind::kCopy;
  task->to = wanted.dstDevice;
  task->from = wanted.srcDevice;
  task->bytes = wanted.WidthInBytes;
  if (wanted.dstMemoryType != CU_MEMORYTYPE_UNIFIED || wanted.srcMemoryType != CU_MEMORYTYPE_UNIFIED ||
      wanted.Height != 1 || wanted.Depth != 1 || task->bytes == 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  for (const CUdeviceptr address : {task->to, task->from}) {
    const Allocation* found = find_allocation(address);
    if (found == nullptr || !within(*found, address, task->bytes)) {
      // Memory may go while a graph for it is being made: an error, which is all that comes of it.
      if (!was_freed(address)) {
        violation("a copy node names pageable memory");
      }
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return check_context(context);
}

CUresult fill_task(const CUDA_MEMSET_NODE_PARAMS& wanted, CUcontext context, Task* task) {
  const Allocation* found = find_allocation(wanted.dst);
  task->kind = Task::Kind::kFill;
  task->to = wanted.dst;
  task->element = wanted.elementSize;
  task->value = wanted.value;
  task->bytes = wanted.width * wanted.elementSize;
  if (wanted.height != 1 || task->bytes == 0 || (task->element != 1 && task->element != 2 && task->element != 4)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (found == nullptr || !within(*found, wanted.dst, task->bytes)) {
    if (!was_freed(wanted.dst)) {
      violation("a fill node names memory that is not the device's");
    }
    return CUDA_ERROR_INVALID_VALUE;
  }
  return check_context(context);
}

CUresult instantiate(CUgraphExec* result, CUgraph handle) {
  const Lock lock;
  Graph* graph = nullptr;
  if (const CUresult status = find_graph(handle, &graph); status != CUDA_SUCCESS) {
    return status;
  }
  Exec* made = state().execs.make();
  std::map<const Node*, std::size_t> places;
  for (Node* node : graph->nodes) {
    ExecNode copy{node, node->task, {}};
    for (const Node* before : node->before) {
      copy.before.push_back(places.at(before));
    }
    places[node] = made->nodes.size();
    made->nodes.push_back(std::move(copy));
  }
  *result = reinterpret_cast<CUgraphExec>(made);
  return CUDA_SUCCESS;
}

CUresult find_exec(CUgraphExec handle, Exec** exec) {
  *exec = state().execs.find(handle);
  if (*exec == nullptr) {
    violation("use of an executable graph that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  return CUDA_SUCCESS;
}

CUresult launch(CUgraphExec handle, CUstream stream_handle, bool per_thread) {
  Lock lock;
  Exec* exec = nullptr;
  Stream* stream = nullptr;
  CUresult status = find_exec(handle, &exec);
  if (status == CUDA_SUCCESS) {
    status = find_stream(stream_handle, per_thread, &stream);
  }
  if (status != CUDA_SUCCESS) {
    return status;
  }
  if (stream->capture != nullptr) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const std::array<OperationRef, 1> previous = {exec->last};
  status = put(lock, *stream, {}, previous);
  if (status != CUDA_SUCCESS) {
    return status;
  }
  const OperationRef start = stream->tail;
  std::vector<OperationRef> all;
  for (const ExecNode& node : exec->nodes) {
    std::vector<OperationRef> before = {start};
    for (const std::size_t place : node.before) {
      before.push_back(all[place]);
    }
    all.push_back(schedule(lock, stream->context->open, node.task, before));
  }
  all.push_back(start);
  stream->tail = schedule(lock, stream->context->open, {}, all);
  exec->last = stream->tail;
  return CUDA_SUCCESS;
}

/// Whether a copy still goes between the same kinds of memory.
bool same_places(const Task& old, const Task& changed) {
  const auto type = [](CUdeviceptr address) {
    const Allocation* found = find_allocation(address);
    return found == nullptr ? 0 : found->type;
  };
  return old.kind != Task::Kind::kCopy || was_freed(old.to) || was_freed(old.from) ||
         (type(old.to) == type(changed.to) && type(old.from) == type(changed.from));
}

template <class MakeTask>
CUresult change(CUgraphExec handle, CUgraphNode node_handle, Task::Kind kind, MakeTask&& make_task) {
  const Lock lock;
  Exec* exec = nullptr;
  if (const CUresult status = find_exec(handle, &exec); status != CUDA_SUCCESS) {
    return status;
  }
  const Node* node = state().nodes.find(node_handle);
  const auto place =
      std::find_if(exec->nodes.begin(), exec->nodes.end(), [node](const ExecNode& each) { return each.node == node; });
  if (node == nullptr || place == exec->nodes.end() || place->task.kind != kind) {
    violation("a change of a node that is none, or of another kind");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Task task;
  if (const CUresult status = make_task(&task); status != CUDA_SUCCESS) {
    return status;
  }
  if (!same_places(place->task, task)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  place->task = std::move(task);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace fake

using fake::Lock;
using fake::state;
using fake::Task;

FAKE cuGraphCreate(CUgraph* graph, unsigned) {
  ENTER_SUBMISSION(cuGraphCreate);
  const Lock lock;
  *graph = reinterpret_cast<CUgraph>(state().graphs.make());
  return CUDA_SUCCESS;
}
FAKE cuGraphDestroy(CUgraph handle) {
  ENTER(cuGraphDestroy);
  const Lock lock;
  fake::Graph* graph = nullptr;
  const CUresult status = fake::find_graph(handle, &graph);
  if (status == CUDA_SUCCESS) {
    for (fake::Node* node : graph->nodes) {
      state().nodes.destroy(node);
    }
    state().graphs.destroy(graph);
  }
  return status;
}
FAKE cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                             const CUDA_KERNEL_NODE_PARAMS_v2* wanted) {
  ENTER_SUBMISSION(cuGraphAddKernelNode_v2);
  return fake::add(node, graph, before, count, [&](Task* task) { return fake::kernel_task(*wanted, task); });
}
FAKE cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                          const CUDA_MEMCPY3D* wanted, CUcontext context) {
  ENTER_SUBMISSION(cuGraphAddMemcpyNode);
  return fake::add(node, graph, before, count, [&](Task* task) { return fake::copy_task(*wanted, context, task); });
}
FAKE cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                          const CUDA_MEMSET_NODE_PARAMS* wanted, CUcontext context) {
  ENTER_SUBMISSION(cuGraphAddMemsetNode);
  return fake::add(node, graph, before, count, [&](Task* task) { return fake::fill_task(*wanted, context, task); });
}
FAKE cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count) {
  ENTER_SUBMISSION(cuGraphAddEmptyNode);
  return fake::add(node, graph, before, count, [](Task*) { return CUDA_SUCCESS; });
}
FAKE cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData*,
                               std::size_t count) {
  ENTER_SUBMISSION(cuGraphAddDependencies_v2);
  const Lock lock;
  fake::Graph* graph = nullptr;
  if (const CUresult status = fake::find_graph(handle, &graph); status != CUDA_SUCCESS) {
    return status;
  }
  for (std::size_t i = 0; i < count; ++i) {
    fake::Node* first = state().nodes.find(from[i]);
    fake::Node* second = state().nodes.find(to[i]);
    const auto place = [graph](const fake::Node* node) {
      return std::find(graph->nodes.begin(), graph->nodes.end(), node) - graph->nodes.begin();
    };
    if (first == nullptr || second == nullptr || place(first) >= place(second)) {
      return CUDA_ERROR_NOT_SUPPORTED;  // what is added later comes later, here
    }
    second->before.push_back(first);
  }
  return CUDA_SUCCESS;
}
FAKE cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute, const CUkernelNodeAttrValue*) {
  ENTER_SUBMISSION(cuGraphKernelNodeSetAttribute);
  const Lock lock;
  const fake::Node* node = state().nodes.find(handle);
  if (node == nullptr || node->task.kind != Task::Kind::kKernel) {
    fake::violation("an attribute of a node that is no kernel");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  // As the header says of each.
  return attribute == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FAKE cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  ENTER_SUBMISSION(cuGraphInstantiateWithFlags);
  return fake::instantiate(exec, graph);
}
FAKE cuGraphExecDestroy(CUgraphExec handle) {
  ENTER(cuGraphExecDestroy);
  const Lock lock;
  fake::Exec* exec = nullptr;
  const CUresult status = fake::find_exec(handle, &exec);
  if (status == CUDA_SUCCESS) {
    state().execs.destroy(exec);
  }
  return status;
}
SUBMIT_TWICE(cuGraphLaunch, (CUgraphExec exec, CUstream stream), fake::launch(exec, stream, per_thread))

namespace {

CUresult upload(CUgraphExec handle, CUstream stream_handle, bool per_thread) {
  Lock lock;
  fake::Exec* exec = nullptr;
  fake::Stream* stream = nullptr;
  CUresult status = fake::find_exec(handle, &exec);
  if (status == CUDA_SUCCESS) {
    status = fake::find_stream(stream_handle, per_thread, &stream);
  }
  return status != CUDA_SUCCESS ? status : fake::put(lock, *stream, {});
}

}  // namespace

SUBMIT_TWICE(cuGraphUpload, (CUgraphExec exec, CUstream stream), upload(exec, stream, per_thread))

FAKE cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* wanted) {
  ENTER_SUBMISSION(cuGraphExecKernelNodeSetParams_v2);
  return fake::change(exec, node, Task::Kind::kKernel, [&](Task* task) { return fake::kernel_task(*wanted, task); });
}
FAKE cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* wanted,
                                    CUcontext context) {
  ENTER_SUBMISSION(cuGraphExecMemcpyNodeSetParams);
  return fake::change(exec, node, Task::Kind::kCopy,
                      [&](Task* task) { return fake::copy_task(*wanted, context, task); });
}
FAKE cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* wanted,
                                    CUcontext context) {
  ENTER_SUBMISSION(cuGraphExecMemsetNodeSetParams);
  return fake::change(exec, node, Task::Kind::kFill,
                      [&](Task* task) { return fake::fill_task(*wanted, context, task); });
}
