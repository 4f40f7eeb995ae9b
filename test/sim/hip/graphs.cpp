// Graphs: as the program makes them, and as Refrain does.
#include "test/sim/hip/face.h"

using sim::Lock;
using sim::state;
using sim::Status;
using sim::Task;

namespace sim::hip {
namespace {

/// Adds a node after what `make_task` has made its task.
template <class MakeTask>
Status add(hipGraphNode_t* result_node, hipGraph_t graph_handle, const hipGraphNode_t* before, std::size_t count,
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
    *result_node = reinterpret_cast<hipGraphNode_t>(made);
  }
  return status;
}

Status kernel_task(const hipKernelNodeParams& wanted, Task* task) {
  const Function* function = function_for(wanted.func);
  if (function == nullptr) {
    violation("a kernel node of a kernel that is none");
    return static_cast<Status>(hipErrorInvalidDeviceFunction);
  }
  task->kind = Task::Kind::kKernel;
  task->kernel = function->kernel;
  task->shape = {{wanted.gridDim.x, wanted.gridDim.y, wanted.gridDim.z},
                 {wanted.blockDim.x, wanted.blockDim.y, wanted.blockDim.z},
                 wanted.sharedMemBytes};
  if (task->shape.threads() == 0) {
    return Status::kInvalidValue;
  }
  if (const Status status = launched_with(*function, task); status != Status::kOk) {
    return status;
  }
  return read_arguments(*function->kernel, wanted.kernelParams, wanted.extra, &task->arguments);
}

Status check_memory(const void* memory, std::size_t bytes, const char* what) {
  const Allocation* found = find_allocation(address_of(memory));
  if (found == nullptr || !within(*found, address_of(memory), bytes)) {
    // Memory may go while a graph for it is being made: an error, which is all that comes of it.
    if (!was_freed(address_of(memory))) {
      violation("%s names memory that is not the device's, or pinned", what);
    }
    return Status::kInvalidValue;
  }
  return Status::kOk;
}

Status copy_node_task(void* to, const void* from, std::size_t bytes, Task* task) {
  if (bytes == 0) {
    return Status::kInvalidValue;
  }
  *task = copy_task(address_of(to), address_of(from), bytes);
  const Status status = check_memory(to, bytes, "a copy node");
  return status == Status::kOk ? check_memory(from, bytes, "a copy node") : status;
}

/// AMD's runtime has the direction of a copy of rows from its caller. What differs between versions where the host is
/// part of it is not allowed here.
Status copy_node_task(const hipMemcpy3DParms& wanted, Task* task) {
  const auto& [width, height, depth] = wanted.extent;
  if (wanted.srcArray != nullptr || wanted.dstArray != nullptr || width == 0 || height == 0 || depth == 0) {
    return Status::kInvalidValue;
  }
  if (wanted.kind != hipMemcpyDeviceToDevice) {
    violation("a copy node of rows that is not from device to device");
    return Status::kInvalidValue;
  }
  const Box to = corner(wanted.dstPtr, wanted.dstPos), from = corner(wanted.srcPtr, wanted.srcPos);
  *task = copy_task(to, from, width, height, depth);
  for (const Box& box : {to, from}) {
    const std::size_t bytes = (height - 1) * box.pitch + (depth - 1) * box.slice + width;
    if (const Status status = check_memory(reinterpret_cast<const void*>(box.start), bytes, "a copy node");
        status != Status::kOk) {
      return status;
    }
    if (find_allocation(box.start)->type == MemoryType::kHost) {
      violation("a copy node of rows from device to device names memory of the host");
    }
  }
  return Status::kOk;
}

Status fill_node_task(const hipMemsetParams& wanted, Task* task) {
  const std::size_t bytes = wanted.width * wanted.elementSize;
  if (wanted.height == 0 || bytes == 0 ||
      (wanted.elementSize != 1 && wanted.elementSize != 2 && wanted.elementSize != 4)) {
    return Status::kInvalidValue;
  }
  *task = fill_task(address_of(wanted.dst), &wanted.value, wanted.elementSize, bytes);
  task->to.pitch = wanted.pitch;
  task->height = wanted.height;
  return check_memory(wanted.dst, (wanted.height - 1) * wanted.pitch + bytes, "a fill node");
}

template <class MakeTask>
Status change(hipGraphExec_t handle, hipGraphNode_t node, MakeTask&& make_task) {
  const Lock lock;
  Exec* exec = nullptr;
  Task task;
  Status status = find_exec(handle, &exec);
  if (status == Status::kOk) {
    status = make_task(&task);
  }
  return status == Status::kOk ? change_node(*exec, node, std::move(task)) : status;
}

Status instantiate(hipGraphExec_t* handle, hipGraph_t graph) {
  Exec* exec = nullptr;
  const Status status = instantiate_graph(graph, &exec);
  if (status == Status::kOk) {
    *handle = reinterpret_cast<hipGraphExec_t>(exec);
  }
  return status;
}

}  // namespace
}  // namespace sim::hip

using sim::hip::add;
using sim::hip::change;

SUBMITS(hipGraphCreate, (hipGraph_t * graph, unsigned), [&] {
  const Lock lock;
  *graph = reinterpret_cast<hipGraph_t>(state().graphs.make());
  return Status::kOk;
}())
CALL(hipGraphDestroy, (hipGraph_t graph), sim::destroy_graph(graph))
SUBMITS(hipGraphAddKernelNode,
        (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* before, std::size_t count,
         const hipKernelNodeParams* wanted),
        add(node, graph, before, count, [&](Task* task) { return sim::hip::kernel_task(*wanted, task); }))
SUBMITS(hipGraphAddMemcpyNode1D,
        (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* before, std::size_t count, void* to,
         const void* from, std::size_t bytes, hipMemcpyKind),
        add(node, graph, before, count, [&](Task* task) { return sim::hip::copy_node_task(to, from, bytes, task); }))
SUBMITS(hipGraphAddMemcpyNode,
        (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* before, std::size_t count,
         const hipMemcpy3DParms* wanted),
        add(node, graph, before, count, [&](Task* task) { return sim::hip::copy_node_task(*wanted, task); }))
SUBMITS(hipGraphAddMemsetNode,
        (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* before, std::size_t count,
         const hipMemsetParams* wanted),
        add(node, graph, before, count, [&](Task* task) { return sim::hip::fill_node_task(*wanted, task); }))
SUBMITS(hipGraphAddHostNode,
        (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* before, std::size_t count,
         const hipHostNodeParams* wanted),
        add(node, graph, before, count, [&](Task* task) {
          *task = sim::host_task(wanted->fn, wanted->userData);
          return Status::kOk;
        }))
SUBMITS(hipGraphAddEmptyNode,
        (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* before, std::size_t count),
        add(node, graph, before, count, [](Task*) { return Status::kOk; }))
SUBMITS(hipGraphInstantiate, (hipGraphExec_t * exec, hipGraph_t graph, hipGraphNode_t*, char*, std::size_t),
        sim::hip::instantiate(exec, graph))
CALL(hipGraphNodeSetEnabled, (hipGraphExec_t handle, hipGraphNode_t node, unsigned enabled), [&] {
  const Lock lock;
  sim::Exec* exec = nullptr;
  const Status status = sim::find_exec(handle, &exec);
  sim::ExecNode* copy =
      status == Status::kOk ? sim::find_copy(*exec, reinterpret_cast<const sim::Node*>(node)) : nullptr;
  if (copy == nullptr || copy->task.kind == Task::Kind::kHost) {
    return status == Status::kOk ? Status::kInvalidValue : status;
  }
  copy->enabled = enabled != 0;
  return Status::kOk;
}())
CALL(hipGraphExecDestroy, (hipGraphExec_t exec), sim::destroy_exec(exec))
SUBMITS_TWICE(hipGraphLaunch, (hipGraphExec_t exec, hipStream_t stream), sim::launch_graph(exec, stream, per_thread))
SUBMITS(hipGraphUpload, (hipGraphExec_t exec, hipStream_t stream), sim::upload_graph(exec, stream, false))
SUBMITS(hipGraphExecKernelNodeSetParams, (hipGraphExec_t exec, hipGraphNode_t node, const hipKernelNodeParams* wanted),
        change(exec, node, [&](Task* task) { return sim::hip::kernel_task(*wanted, task); }))
SUBMITS(hipGraphExecMemcpyNodeSetParams1D,
        (hipGraphExec_t exec, hipGraphNode_t node, void* to, const void* from, std::size_t bytes, hipMemcpyKind),
        change(exec, node, [&](Task* task) { return sim::hip::copy_node_task(to, from, bytes, task); }))
SUBMITS(hipGraphExecHostNodeSetParams, (hipGraphExec_t exec, hipGraphNode_t node, const hipHostNodeParams* wanted),
        change(exec, node, [&](Task* task) {
          *task = sim::host_task(wanted->fn, wanted->userData);
          return Status::kOk;
        }))
SUBMITS(hipGraphExecMemsetNodeSetParams, (hipGraphExec_t exec, hipGraphNode_t node, const hipMemsetParams* wanted),
        change(exec, node, [&](Task* task) { return sim::hip::fill_node_task(*wanted, task); }))
