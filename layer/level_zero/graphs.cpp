#include "layer/level_zero/graphs.h"

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/level_zero/inventory.h"
#include "layer/level_zero/layer.h"
#include "layer/level_zero/resolver.h"
#include "layer/level_zero/submission.h"

namespace refrain::layer::level_zero {

std::atomic<std::uint32_t> recorded_lists{0};

namespace {

const char* const kOwnGraph = "it is a graph that the program recorded itself";
const char* const kOwnLists = "it is command lists of the program's own";

/// What the commands of a graph do to events, in the order in which they were recorded.
struct Uses {
  std::vector<EventUse> all;
  bool known = true;  ///< false: it does more, and nobody knows what
};
using UsesRef = std::shared_ptr<Uses>;

struct Graphs {
  env::Mutex mutex;
  /// Lists with which recording began, and into what.
  std::unordered_map<ze_command_list_handle_t, ze_graph_handle_t> recording REFRAIN_GUARDED_BY(mutex);
  std::unordered_map<ze_graph_handle_t, UsesRef> recorded REFRAIN_GUARDED_BY(mutex);
  std::unordered_map<ze_executable_graph_handle_t, UsesRef> executable REFRAIN_GUARDED_BY(mutex);
  backends::level_zero::RecordedInto question REFRAIN_GUARDED_BY(mutex) = nullptr;
};
Graphs& graphs() noexcept {
  static Immortal<Graphs> all;
  return *all;
}

/// What the driver records the list into; null: nothing.
ze_graph_handle_t recorded_into(ze_command_list_handle_t list) noexcept {
  backends::level_zero::RecordedInto question = nullptr;
  {
    const env::MutexLock guard(graphs().mutex);
    question = graphs().question;
  }
  ze_graph_handle_t graph = nullptr;
  const ze_result_t told = question != nullptr ? question(list, &graph) : backends::level_zero::kNotRecorded;
  if (told != ZE_RESULT_SUCCESS && told != backends::level_zero::kNotRecorded) {
    stand_aside("the driver does not say whether a list is recorded into a graph");
  }
  return told == ZE_RESULT_SUCCESS ? graph : nullptr;
}

/// False: it cannot be followed.
bool note_begin(ze_command_list_handle_t list) noexcept {
  try {
    {
      const auto question = recording_question();
      const env::MutexLock guard(graphs().mutex);
      graphs().question = question;
    }
    const ze_graph_handle_t graph = recorded_into(list);
    const env::MutexLock guard(graphs().mutex);
    graphs().recording[list] = graph;
    graphs().recorded[graph] = std::make_shared<Uses>();
    return graph != nullptr;
  } catch (...) {
    return false;
  }
}

void note_end(ze_command_list_handle_t list) noexcept {
  const env::MutexLock guard(graphs().mutex);
  if (graphs().recording.erase(list) != 0) {
    recorded_lists.fetch_sub(1, std::memory_order_acq_rel);
  }
}

/// Adds to what is recorded into `graph`. `change(uses)` may throw.
template <class Change>
void change_uses(ze_graph_handle_t graph, Change&& change) noexcept {
  try {
    const env::MutexLock guard(graphs().mutex);
    if (const auto found = graphs().recorded.find(graph); found != graphs().recorded.end()) {
      change(*found->second);
    }
  } catch (...) {
    give_up("out of memory while a graph of the program was followed");
  }
}

template <class Issue>
ze_result_t begin(const replay::EntryPoint& entry_point, ze_command_list_handle_t list, Issue&& issue) noexcept {
  const bool follows = engine() != nullptr;
  if (follows) {
    recorded_lists.fetch_add(1, std::memory_order_acq_rel);  // from here on nothing is held
  }
  HostCall host_call(entry_point);
  ze_result_t status = ZE_RESULT_SUCCESS;
  {
    const Uncompared uncompared;
    status = issue();
  }
  if (follows && status != ZE_RESULT_SUCCESS) {
    recorded_lists.fetch_sub(1, std::memory_order_acq_rel);
  } else if (follows && !note_begin(list)) {
    stand_aside("the program records graphs, and the driver does not say which lists are recorded");
  }
  return host_call.done(status);
}

/// Many commands as one submission. `happened()`: notes what they do to events.
template <class Issue, class Happened>
ze_result_t append_many(const Call& call, const char* what, Issue&& issue, Happened&& happened) noexcept {
  if (replay::Engine* running = engine(); running != nullptr && running->anything_held()) {
    running->flush_others();  // they may wait for events that other threads' work signals
  }
  bool done = false;
  const ze_result_t status = submit_unheld(call, what, [&] {
    const Uncompared uncompared;
    const ze_result_t told = issue();
    done = told == ZE_RESULT_SUCCESS;
    return told;
  });
  if (!done) {
    return status;
  }
  const ze_graph_handle_t into = recording_anything() ? recorded_into(call.list) : nullptr;
  if (into != nullptr) {
    change_uses(into, [](Uses& uses) { uses.known = false; });
  } else {
    happened();
  }
  return status;
}

void note_graph(ze_executable_graph_handle_t graph) noexcept {
  UsesRef uses;
  {
    const env::MutexLock guard(graphs().mutex);
    const auto found = graphs().executable.find(graph);
    uses = found == graphs().executable.end() ? nullptr : found->second;
  }
  if (uses == nullptr || !uses->known) {
    stand_aside("the program executes a graph of its own of which it is not known what events it uses");
    return;
  }
  for (const EventUse& use : uses->all) {
    note_of_unknown_place(use);
  }
}

/// Functions of the program may be called meanwhile.
template <class Issue>
ze_result_t destroy(const replay::EntryPoint& entry_point, Issue&& issue) noexcept {
  const ze_result_t flushed = HostCall(entry_point).done(ZE_RESULT_SUCCESS);
  const ze_result_t status = issue();
  return flushed != ZE_RESULT_SUCCESS ? flushed : status;
}

}  // namespace

void recorded_list_gone(ze_command_list_handle_t list) noexcept {
  if (recording_anything()) [[unlikely]] {
    note_end(list);
  }
}

void note_beside_recording(const Call& call) noexcept {
  const ze_graph_handle_t into = recorded_into(call.list);
  if (into == nullptr) {
    note_unseen(call);
    forget_quiet_lists();
    return;
  }
  change_uses(into, [&call](Uses& uses) {
    for (std::uint32_t i = 0; call.waits != nullptr && i < call.wait_count; ++i) {
      uses.all.push_back({call.waits[i], EventUse::What::kWait});
    }
    if (call.reset != nullptr) {
      uses.all.push_back({call.reset, EventUse::What::kReset});
    }
    if (call.signal != nullptr) {
      uses.all.push_back({call.signal, EventUse::What::kSignal});
    }
  });
}

ze_result_t wrap::zeCommandListBeginGraphCaptureExt(ze_command_list_handle_t list, const void* more) noexcept {
  return begin(entry::zeCommandListBeginGraphCaptureExt, list,
               [&] { return next.zeCommandListBeginGraphCaptureExt(list, more); });
}

ze_result_t wrap::zeCommandListBeginCaptureIntoGraphExt(ze_command_list_handle_t list, ze_graph_handle_t graph,
                                                        const void* more) noexcept {
  return begin(entry::zeCommandListBeginCaptureIntoGraphExt, list,
               [&] { return next.zeCommandListBeginCaptureIntoGraphExt(list, graph, more); });
}

ze_result_t wrap::zeCommandListEndGraphCaptureExt(ze_command_list_handle_t list, const void* more,
                                                  ze_graph_handle_t* graph) noexcept {
  HostCall host_call(entry::zeCommandListEndGraphCaptureExt);
  const ze_result_t status = next.zeCommandListEndGraphCaptureExt(list, more, graph);
  // After an error the list may be recorded further.
  if (recording_anything() && (status == ZE_RESULT_SUCCESS || recorded_into(list) == nullptr)) {
    note_end(list);
  }
  return host_call.done(status);
}

ze_result_t wrap::zeGraphInstantiateExt(ze_graph_handle_t graph, const void* more,
                                        ze_executable_graph_handle_t* executable) noexcept {
  HostCall host_call(entry::zeGraphInstantiateExt);
  const ze_result_t status = next.zeGraphInstantiateExt(graph, more, executable);
  if (status == ZE_RESULT_SUCCESS) {
    const env::MutexLock guard(graphs().mutex);
    const auto found = graphs().recorded.find(graph);
    try {
      graphs().executable[*executable] = found == graphs().recorded.end() ? nullptr : found->second;
    } catch (...) {
      graphs().executable.erase(*executable);  // one that is not known
    }
  }
  return host_call.done(status);
}

ze_result_t wrap::zeExecutableGraphDestroyExt(ze_executable_graph_handle_t graph) noexcept {
  {
    const env::MutexLock guard(graphs().mutex);
    graphs().executable.erase(graph);
  }
  return destroy(entry::zeExecutableGraphDestroyExt, [&] { return next.zeExecutableGraphDestroyExt(graph); });
}

ze_result_t wrap::zeGraphDestroyExt(ze_graph_handle_t graph) noexcept {
  {
    const env::MutexLock guard(graphs().mutex);
    graphs().recorded.erase(graph);
  }
  return destroy(entry::zeGraphDestroyExt, [&] { return next.zeGraphDestroyExt(graph); });
}

ze_result_t wrap::zeCommandListAppendGraphExt(ze_command_list_handle_t list, ze_executable_graph_handle_t graph,
                                              const void* more, ze_event_handle_t signal, uint32_t count,
                                              ze_event_handle_t* waits) noexcept {
  return append_many(
      {entry::zeCommandListAppendGraphExt, OperationKind::kUnknown, list, signal, count, waits}, kOwnGraph,
      [&] { return next.zeCommandListAppendGraphExt(list, graph, more, signal, count, waits); },
      [&] { note_graph(graph); });
}

ze_result_t wrap::zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t immediate, uint32_t count,
                                                              ze_command_list_handle_t* lists, ze_event_handle_t signal,
                                                              uint32_t wait_count, ze_event_handle_t* waits) noexcept {
  return append_many(
      {entry::zeCommandListImmediateAppendCommandListsExp, OperationKind::kUnknown, immediate, signal, wait_count,
       waits},
      kOwnLists,
      [&] {
        return next.zeCommandListImmediateAppendCommandListsExp(immediate, count, lists, signal, wait_count, waits);
      },
      [&] { note_execution(count, lists); });
}

ze_result_t wrap::zeCommandListImmediateAppendCommandListsWithParameters(
    ze_command_list_handle_t immediate, uint32_t count, ze_command_list_handle_t* lists, const void* more,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits) noexcept {
  return append_many(
      {entry::zeCommandListImmediateAppendCommandListsWithParameters, OperationKind::kUnknown, immediate, signal,
       wait_count, waits},
      kOwnLists,
      [&] {
        return next.zeCommandListImmediateAppendCommandListsWithParameters(immediate, count, lists, more, signal,
                                                                           wait_count, waits);
      },
      [&] { note_execution(count, lists); });
}

}  // namespace refrain::layer::level_zero
