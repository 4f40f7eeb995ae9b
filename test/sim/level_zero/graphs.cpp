// Graphs that are recorded from immediate lists and executed in one (ZE_extension_record_replay_graph).
//
// A list is recorded from zeCommandListBeginGraphCaptureExt on, and any other from its first wait for an event that a
// recorded command signals (a fork) on. An executable graph runs once at a time: a further execution comes after the
// one before. Inside a graph counter-based events are edges; others have a state, as anywhere else. Graphs in graphs,
// and command lists in graphs, are not offered.
#include <algorithm>
#include <utility>

#include "test/sim/core/checks.h"
#include "test/sim/level_zero/objects.h"

namespace sim::level_zero {
namespace {

bool counts(const Event* event) noexcept {
  return event != nullptr && event->pool->counters;
}

RecordedGraph::Lane* lane_of(RecordedGraph& graph, const List& list) noexcept {
  const auto found = std::ranges::find(graph.lanes, &list, &RecordedGraph::Lane::list);
  return found == graph.lanes.end() ? nullptr : &*found;
}

ze_result_t begin_capture(ze_command_list_handle_t handle, RecordedGraph* graph, const char* by) {
  List* list = find_or_complain(state().lists, handle, by);
  if (list == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (!list->immediate || list->synchronous || list->recording != nullptr) {
    violation("%s of a list that is not immediate, is synchronous, or is recorded already", by);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (graph == nullptr) {
    graph = state().graphs.make();
    graph->context = list->context;
  }
  graph->recording = true;
  graph->ordinal = list->ordinal;
  graph->lanes.push_back({list, list->chain.in_order, 0});
  list->recording = graph;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeGraphCreateExt(ze_context_handle_t context, const void*, GraphHandle** result) {
  ENTER_SUBMISSION(zeGraphCreateExt);
  const Lock lock;
  Context* known = find_or_complain(state().contexts, context, "zeGraphCreateExt");
  if (known == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  RecordedGraph* made = state().graphs.make();
  made->context = known;
  *result = reinterpret_cast<GraphHandle*>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListBeginGraphCaptureExt(ze_command_list_handle_t list, const void*) {
  ENTER_SUBMISSION(zeCommandListBeginGraphCaptureExt);
  const Lock lock;
  return begin_capture(list, nullptr, "zeCommandListBeginGraphCaptureExt");
}

ze_result_t zeCommandListBeginCaptureIntoGraphExt(ze_command_list_handle_t list, GraphHandle* handle, const void*) {
  constexpr const char* kName = "zeCommandListBeginCaptureIntoGraphExt";
  ENTER_SUBMISSION(zeCommandListBeginCaptureIntoGraphExt);
  const Lock lock;
  RecordedGraph* graph = find_or_complain(state().graphs, handle, kName);
  if (graph == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (graph->recording || !graph->lanes.empty()) {
    violation("%s with a graph that is not empty", kName);
    return kInvalidGraph;
  }
  return begin_capture(list, graph, kName);
}

ze_result_t zeCommandListIsGraphCaptureEnabledExt(ze_command_list_handle_t handle) {
  ENTER(zeCommandListIsGraphCaptureEnabledExt);
  const Lock lock;
  const List* list = find_or_complain(state().lists, handle, "zeCommandListIsGraphCaptureEnabledExt");
  if (list == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  return list->recording != nullptr ? kQueryTrue : kQueryFalse;
}

ze_result_t zeCommandListGetGraphExt(ze_command_list_handle_t handle, GraphHandle** result) {
  ENTER(zeCommandListGetGraphExt);
  const Lock lock;
  const List* list = find_or_complain(state().lists, handle, "zeCommandListGetGraphExt");
  if (list == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  *result = reinterpret_cast<GraphHandle*>(list->recording);
  return list->recording != nullptr ? ZE_RESULT_SUCCESS : kNotCapturing;
}

/// Whether the parent waits for all work of a lane.
bool joined(const RecordedGraph& graph, std::size_t lane) {
  std::size_t last_work = 0;
  for (std::size_t i = 0; i < graph.entries.size(); ++i) {
    const auto& entry = graph.entries[i];
    last_work = entry.lane == lane && entry.command.task.kind != Task::Kind::kEmpty ? i : last_work;
  }
  for (std::size_t i = last_work; i < graph.entries.size(); ++i) {
    const Event* event = graph.entries[i].command.sets;
    if (graph.entries[i].lane != lane || event == nullptr) {
      continue;
    }
    for (std::size_t later = i + 1; later < graph.entries.size(); ++later) {
      const auto& waits = graph.entries[later].command.waits;
      if (graph.entries[later].lane == graph.lanes[lane].parent && std::ranges::find(waits, event) != waits.end()) {
        return true;
      }
    }
  }
  return false;
}

ze_result_t zeCommandListEndGraphCaptureExt(ze_command_list_handle_t handle, const void*, GraphHandle** result) {
  ENTER_SUBMISSION(zeCommandListEndGraphCaptureExt);
  const Lock lock;
  List* list = find_or_complain(state().lists, handle, "zeCommandListEndGraphCaptureExt");
  if (list == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  RecordedGraph* graph = list->recording;
  if (graph == nullptr || graph->lanes.front().list != list) {
    return kNotCapturing;
  }
  for (std::size_t lane = 1; lane < graph->lanes.size(); ++lane) {
    graph->broken = graph->broken || !joined(*graph, lane);
  }
  for (RecordedGraph::Lane& lane : graph->lanes) {
    lane.list->recording = nullptr;
    lane.list = nullptr;
  }
  for (const RecordedGraph::Entry& entry : graph->entries) {
    if (entry.command.sets != nullptr) {
      entry.command.sets->recording = nullptr;
    }
  }
  graph->recording = false;
  *result = reinterpret_cast<GraphHandle*>(graph);
  return graph->broken ? kUnjoinedForks : ZE_RESULT_SUCCESS;
}

ze_result_t zeGraphInstantiateExt(GraphHandle* handle, const void*, ExecutableGraphHandle** result) {
  ENTER_SUBMISSION(zeGraphInstantiateExt);
  const Lock lock;
  RecordedGraph* graph = find_or_complain(state().graphs, handle, "zeGraphInstantiateExt");
  if (graph == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (graph->recording || graph->broken) {
    return kInvalidGraph;
  }
  ExecutableGraph* made = state().executables.make();
  made->source = graph;
  made->open = std::make_shared<OpenWork>();
  ++graph->executables;
  *result = reinterpret_cast<ExecutableGraphHandle*>(made);
  return ZE_RESULT_SUCCESS;
}

/// All commands of a graph, from after `begin` to what it returns.
OperationRef put_graph(const Lock& lock, const RecordedGraph& graph, const OperationRef& begin,
                       const std::vector<OpenRef>& open) {
  std::vector<Chain> chains;
  for (const RecordedGraph::Lane& lane : graph.lanes) {
    chains.push_back({lane.in_order, begin, {}});
  }
  std::vector<OperationRef> done;
  for (const RecordedGraph::Entry& entry : graph.entries) {
    Command command = entry.command;
    std::erase_if(command.waits, counts);
    command.sets = counts(command.sets) ? nullptr : command.sets;
    for (const std::size_t place : entry.after) {
      command.after.push_back(done[place]);
    }
    done.push_back(put(lock, chains[entry.lane], command, open));
  }
  Chain end;
  end.barrier = begin;
  end.since = std::move(done);
  Command last;
  last.order = Command::Order::kBarrier;
  return put(lock, end, last, open);
}

ze_result_t zeCommandListAppendGraphExt(ze_command_list_handle_t handle, ExecutableGraphHandle* graph_handle,
                                        const void*, ze_event_handle_t signal, std::uint32_t count,
                                        ze_event_handle_t* waits) {
  constexpr const char* kName = "zeCommandListAppendGraphExt";
  ENTER_SUBMISSION(zeCommandListAppendGraphExt);
  const Lock lock;
  List* list = find_or_complain(state().lists, handle, kName);
  ExecutableGraph* executable = find_or_complain(state().executables, graph_handle, kName);
  if (list == nullptr || executable == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  Command events;
  RecordedGraph* recording = nullptr;
  ze_result_t status = read_events(events, signal, count, waits, kName);
  if (status == ZE_RESULT_SUCCESS) {
    status = find_recording(*list, count, waits, &recording);
  }
  if (recording != nullptr) {
    return kCaptureUnsupported;
  }
  if (status == ZE_RESULT_SUCCESS) {
    status = check_counters(events, *list, kName);
  }
  if (status != ZE_RESULT_SUCCESS) {
    return status;
  }
  const RecordedGraph& graph = *executable->source;
  if (!list->immediate || list->ordinal != graph.ordinal || list->chain.in_order != graph.lanes.front().in_order) {
    violation("%s to a list that is not like the recorded one", kName);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (!std::ranges::all_of(graph.entries, [](const auto& entry) { return complete(entry.command, kName); })) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  const std::vector<OpenRef> open = {list->open, list->context->open, executable->open};
  Command begin;
  begin.waits = events.waits;
  begin.after.push_back(executable->last);
  Chain inner;
  inner.in_order = true;
  inner.barrier = list->chain.barrier;
  inner.since = list->chain.in_order ? list->chain.since : std::vector<OperationRef>();
  const OperationRef first = put(lock, inner, begin, open);
  Command end;
  end.sets = events.sets;
  inner.barrier = put_graph(lock, graph, first, open);
  executable->last = put(lock, inner, end, open);
  if (list->chain.in_order) {
    list->chain.barrier = executable->last;
    list->chain.since.clear();
  } else {
    list->chain.since.push_back(executable->last);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeGraphIsEmptyExt(GraphHandle* handle) {
  ENTER(zeGraphIsEmptyExt);
  const Lock lock;
  const RecordedGraph* graph = find_or_complain(state().graphs, handle, "zeGraphIsEmptyExt");
  if (graph == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  return graph->broken ? kInvalidGraph : graph->entries.empty() ? kQueryTrue : kQueryFalse;
}

ze_result_t zeGraphSetDestructionCallbackExt(GraphHandle* handle, void (*function)(void*), void* data, const void*) {
  ENTER(zeGraphSetDestructionCallbackExt);
  const Lock lock;
  RecordedGraph* graph = find_or_complain(state().graphs, handle, "zeGraphSetDestructionCallbackExt");
  if (graph == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  graph->callbacks.emplace_back(function, data);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeExecutableGraphDestroyExt(ExecutableGraphHandle* handle) {
  ENTER(zeExecutableGraphDestroyExt);
  const Lock lock;
  ExecutableGraph* executable = find_or_complain(state().executables, handle, "zeExecutableGraphDestroyExt");
  if (executable == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  must_be_idle(lock, executable->open, "zeExecutableGraphDestroyExt");
  --executable->source->executables;
  state().executables.destroy(executable);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeGraphDestroyExt(GraphHandle* handle) {
  ENTER(zeGraphDestroyExt);
  std::vector<std::pair<void (*)(void*), void*>> callbacks;
  {
    const Lock lock;
    RecordedGraph* graph = find_or_complain(state().graphs, handle, "zeGraphDestroyExt");
    if (graph == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    }
    if (graph->recording || graph->executables != 0) {
      violation("zeGraphDestroyExt of a graph that is recorded, or that has executable graphs");
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    callbacks.swap(graph->callbacks);
    state().graphs.destroy(graph);
  }
  for (const auto& [function, data] : callbacks) {
    function(data);
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t find_recording(const List& list, std::uint32_t count, ze_event_handle_t* waits, RecordedGraph** found) {
  *found = list.recording;
  for (std::uint32_t i = 0; i < count; ++i) {
    RecordedGraph* of_event = state().events.find(waits[i])->recording;
    if (of_event != nullptr && *found != nullptr && of_event != *found) {
      *found = nullptr;
      return kCaptureMergeAttempt;
    }
    *found = *found != nullptr ? *found : of_event;
  }
  return *found != nullptr && (!list.immediate || list.synchronous) ? kCaptureUnsupported : ZE_RESULT_SUCCESS;
}

ze_result_t record(RecordedGraph& graph, List& list, Command command, const char* by) {
  if (list.ordinal != graph.ordinal) {
    violation("%s: a list of another group of queues is forked into a graph", by);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  const auto signaller = [&graph](const Event* event) {
    std::size_t place = graph.entries.size();
    for (std::size_t i = 0; i < graph.entries.size(); ++i) {
      place = graph.entries[i].command.sets == event ? i : place;
    }
    return place;
  };
  if (lane_of(graph, list) == nullptr) {
    std::size_t parent = 0;
    for (const Event* event : command.waits) {
      parent = event->recording == &graph ? graph.entries[signaller(event)].lane : parent;
    }
    graph.lanes.push_back({&list, list.chain.in_order, parent});
    list.recording = &graph;
  }
  RecordedGraph::Entry entry;
  entry.lane = static_cast<std::size_t>(lane_of(graph, list) - graph.lanes.data());
  for (const Event* event : command.waits) {
    if (counts(event) && event->recording != &graph) {
      violation("%s: a graph waits for a counter-based event that none of its commands signals", by);
    } else if (counts(event)) {
      entry.after.push_back(signaller(event));
    }
  }
  if (command.sets != nullptr) {
    command.sets->recording = &graph;
  }
  entry.command = std::move(command);
  graph.entries.push_back(std::move(entry));
  return ZE_RESULT_SUCCESS;
}

void tell_graph_properties(void* chain) noexcept {
  auto* properties = find_in_chain<GraphProperties>(chain, kGraphProperties);
  if (properties != nullptr) {
    properties->flags = offered("graph") ? GraphProperties::kImmutable : 0;
  }
}

void* graph_function(std::string_view name) noexcept {
#define KNOWN(function) \
  { "graph", #function, reinterpret_cast<void*>(&(function)) }
  static const OfferedFunction kKnown[] = {
      KNOWN(zeGraphCreateExt),
      KNOWN(zeCommandListBeginGraphCaptureExt),
      KNOWN(zeCommandListBeginCaptureIntoGraphExt),
      KNOWN(zeCommandListIsGraphCaptureEnabledExt),
      KNOWN(zeCommandListGetGraphExt),
      KNOWN(zeCommandListEndGraphCaptureExt),
      KNOWN(zeGraphInstantiateExt),
      KNOWN(zeCommandListAppendGraphExt),
      KNOWN(zeGraphIsEmptyExt),
      KNOWN(zeGraphSetDestructionCallbackExt),
      KNOWN(zeExecutableGraphDestroyExt),
      KNOWN(zeGraphDestroyExt),
  };
#undef KNOWN
  return find_offered(kKnown, name);
}

}  // namespace sim::level_zero
