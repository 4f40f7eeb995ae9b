// Graphs and executable copies by their handles.
#include <array>

#include "test/sim/core/calls.h"
#include "test/sim/streams/objects.h"

namespace sim {

Status find_graph(const void* handle, Graph** graph) {
  *graph = state().graphs.find(const_cast<void*>(handle));
  if (*graph == nullptr) {
    violation("use of a graph that is none");
    return Status::kInvalidHandle;
  }
  return Status::kOk;
}

Status find_exec(const void* handle, Exec** exec) {
  *exec = state().execs.find(const_cast<void*>(handle));
  if (*exec == nullptr) {
    violation("use of an executable graph that is none");
    return Status::kInvalidHandle;
  }
  return Status::kOk;
}

Status find_nodes(const Graph& graph, const void* const* handles, std::size_t count, std::vector<Node*>* nodes) {
  for (std::size_t i = 0; i < count; ++i) {
    nodes->push_back(state().nodes.find(const_cast<void*>(handles[i])));
    if (nodes->back() == nullptr || nodes->back()->graph != &graph) {
      violation("an edge from a node that is none of the graph");
      return Status::kInvalidValue;
    }
  }
  return Status::kOk;
}

Status destroy_graph(void* handle) {
  const Lock lock;
  Graph* graph = nullptr;
  const Status status = find_graph(handle, &graph);
  if (status == Status::kOk) {
    for (Node* node : graph->nodes) {
      state().nodes.destroy(node);
    }
    state().graphs.destroy(graph);
  }
  return status;
}

Status destroy_exec(void* handle) {
  const Lock lock;
  Exec* exec = nullptr;
  const Status status = find_exec(handle, &exec);
  if (status == Status::kOk) {
    state().execs.destroy(exec);  // launches go on: they are instances of their own
  }
  return status;
}

Status instantiate_graph(const void* handle, Exec** exec) {
  const Lock lock;
  Graph* graph = nullptr;
  Status status = find_graph(handle, &graph);
  if (status == Status::kOk) {
    status = forbidden_in_captures();
  }
  if (status != Status::kOk) {
    return status;
  }
  Exec* made = state().execs.make();
  if (!instantiate(*graph, *made)) {
    state().execs.destroy(made);
    return Status::kInvalidValue;
  }
  *exec = made;
  return Status::kOk;
}

Status add_edges(const void* handle, const void* const* from, const void* const* to, std::size_t count,
                 const std::function<bool(std::size_t)>& early) {
  const Lock lock;
  Graph* graph = nullptr;
  Status status = find_graph(handle, &graph);
  std::vector<Node*> first, second;
  if (status == Status::kOk) {
    status = find_nodes(*graph, from, count, &first);
  }
  if (status == Status::kOk) {
    status = find_nodes(*graph, to, count, &second);
  }
  for (std::size_t i = 0; i < count && status == Status::kOk; ++i) {
    status = first[i] != second[i] && add_edge(*first[i], *second[i]) ? Status::kOk : Status::kInvalidValue;
    if (status == Status::kOk && early && early(i)) {
      const bool kernels = first[i]->task.kind == Task::Kind::kKernel && second[i]->task.kind == Task::Kind::kKernel;
      status = kernels ? Status::kOk : Status::kInvalidValue;
      second[i]->early = kernels ? first[i] : nullptr;
    }
  }
  return status;
}

Status remove_edges(const void* handle, const void* const* from, const void* const* to, std::size_t count) {
  const Lock lock;
  Graph* graph = nullptr;
  Status status = find_graph(handle, &graph);
  std::vector<Node*> first, second;
  if (status == Status::kOk) {
    status = find_nodes(*graph, from, count, &first);
  }
  if (status == Status::kOk) {
    status = find_nodes(*graph, to, count, &second);
  }
  for (std::size_t i = 0; i < count && status == Status::kOk; ++i) {
    status = remove_edge(*first[i], *second[i]) ? Status::kOk : Status::kInvalidValue;
  }
  return status;
}

Status destroy_node(const void* handle) {
  const Lock lock;
  Node* node = state().nodes.find(const_cast<void*>(handle));
  if (node == nullptr) {
    violation("a node that is none is destroyed");
    return Status::kInvalidHandle;
  }
  remove_node(*node);
  state().nodes.destroy(node);
  return Status::kOk;
}

namespace {

/// Copies all nodes of `from` into `to`; those that come after nothing come after `start` (may be null).
std::vector<Node*> copy_into(Graph& to, const Graph& from, Node* start) {
  std::map<const Node*, Node*> copies;
  std::vector<Node*> made;
  for (const Node* node : from.nodes) {
    copies[node] = made.emplace_back(state().nodes.make());
    add_node(to, *made.back(), node->task, {}, node->signals);
  }
  for (const Node* node : from.nodes) {
    for (const Node* before : node->before) {
      add_edge(*copies.at(before), *copies.at(node));
    }
    copies[node]->early = node->early != nullptr ? copies.at(node->early) : nullptr;
    if (node->before.empty() && start != nullptr) {
      add_edge(*start, *copies.at(node));
    }
  }
  return made;
}

}  // namespace

Status clone_graph(const void* handle, Graph** clone) {
  const Lock lock;
  Graph* graph = nullptr;
  const Status status = find_graph(handle, &graph);
  if (status == Status::kOk) {
    *clone = state().graphs.make();
    copy_into(**clone, *graph, nullptr);
  }
  return status;
}

Status add_child(Graph& graph, const std::vector<Node*>& before, const void* child_handle, Node** node) {
  Graph* child = nullptr;
  const Status status = find_graph(child_handle, &child);
  if (status != Status::kOk || child == &graph) {
    return status != Status::kOk ? status : Status::kInvalidValue;
  }
  Node* start = state().nodes.make();
  add_node(graph, *start, {}, before);
  std::vector<Node*> all = copy_into(graph, *child, start);
  all.push_back(start);
  *node = state().nodes.make();
  add_node(graph, **node, {}, all);
  return Status::kOk;
}

Status update_exec(const void* exec_handle, const void* graph_handle) {
  const Lock lock;
  Exec* exec = nullptr;
  Graph* graph = nullptr;
  Status status = find_exec(exec_handle, &exec);
  if (status == Status::kOk) {
    status = find_graph(graph_handle, &graph);
  }
  if (status == Status::kOk && !update_all(*exec, *graph)) {
    status = Status::kGraphUpdateFailure;
  }
  return status;
}

Status launch_graph(const void* exec_handle, const void* stream_handle, bool per_thread) {
  Lock lock;
  Exec* exec = nullptr;
  Stream* stream = nullptr;
  Status status = find_exec(exec_handle, &exec);
  if (status == Status::kOk) {
    status = find_stream(stream_handle, per_thread, &stream);
  }
  if (status != Status::kOk) {
    return status;
  }
  if (stream->capture != nullptr) {
    return Status::kCaptureUnsupported;
  }
  const std::array<OperationRef, 1> previous = {exec->last};
  status = put(lock, *stream, {}, previous);
  if (status == Status::kOk) {
    const std::array<OperationRef, 1> start = {stream->tail};
    stream->tail = launch(lock, stream->context->open, *exec, start);
    stream->ahead.clear();
  }
  return status;
}

Status upload_graph(const void* exec_handle, const void* stream_handle, bool per_thread) {
  Lock lock;
  Exec* exec = nullptr;
  Stream* stream = nullptr;
  Status status = find_exec(exec_handle, &exec);
  if (status == Status::kOk) {
    status = find_stream(stream_handle, per_thread, &stream);
  }
  return status != Status::kOk ? status : put(lock, *stream, {});
}

namespace {

/// Whether a copy still goes between the same kinds of memory.
bool same_places(const Task& old, const Task& changed) {
  const auto place = [](Address address) {
    const Allocation* found = find_allocation(address);
    const bool of_device = found != nullptr && found->type == MemoryType::kDevice;
    return std::pair(found == nullptr ? -1 : static_cast<int>(found->type), of_device ? found->owner : nullptr);
  };
  return old.kind != Task::Kind::kCopy || was_freed(old.to.start) || was_freed(old.from.start) ||
         (place(old.to.start) == place(changed.to.start) && place(old.from.start) == place(changed.from.start));
}

/// Drivers change no copy of rows. Of a fill they change the address and the value; anything else they may refuse.
bool same_work(const Task& old, const Task& changed) {
  const auto one_row = [](const Task& task) { return task.height == 1 && task.depth == 1; };
  switch (old.kind) {
    case Task::Kind::kCopy: return one_row(old) && one_row(changed);
    case Task::Kind::kFill:
      return old.bytes == changed.bytes && old.height == changed.height && old.to.pitch == changed.to.pitch &&
             old.pattern.size() == changed.pattern.size();
    default: return true;
  }
}

}  // namespace

Status change_graph_node(const void* handle, Task task) {
  Node* node = state().nodes.find(const_cast<void*>(handle));
  if (node == nullptr || node->task.kind != task.kind) {
    violation("a change of a node that is none, or of another kind");
    return Status::kInvalidHandle;
  }
  for (const auto& [id, value] : node->task.attributes) {  // they stay
    give_attribute(&task, id, value);
  }
  node->task = std::move(task);
  node->task.bind();
  return Status::kOk;
}

Status change_node(Exec& exec, const void* handle, Task task) {
  const Node* node = state().nodes.find(const_cast<void*>(handle));
  ExecNode* found = node == nullptr ? nullptr : find_copy(exec, node);
  if (found == nullptr || found->task.kind != task.kind) {
    violation("a change of a node that is none, or of another kind");
    return Status::kInvalidHandle;
  }
  if (!same_work(found->task, task) || !same_places(found->task, task)) {
    return Status::kInvalidValue;
  }
  for (const auto& [id, value] : found->task.attributes) {  // they stay
    give_attribute(&task, id, value);
  }
  found->task = std::move(task);
  found->task.bind();
  spend_update();
  return Status::kOk;
}

}  // namespace sim
