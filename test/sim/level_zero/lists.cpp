// Command lists, queues, fences.
#include "test/sim/core/checks.h"
#include "test/sim/level_zero/objects.h"

namespace sim::level_zero {

void fill_appends(ze_command_list_dditable_t& table) noexcept;

namespace {

ze_result_t make_list(Context* context, std::uint32_t ordinal, bool in_order, List** made) {
  if (context == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (!valid_ordinal(ordinal)) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  *made = state().lists.make();
  (*made)->context = context;
  (*made)->ordinal = ordinal;
  (*made)->chain.in_order = in_order;
  (*made)->open = std::make_shared<OpenWork>();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t,
                                const ze_command_list_desc_t* description, ze_command_list_handle_t* result) {
  ENTER_SUBMISSION(zeCommandListCreate);
  const Lock lock;
  List* made = nullptr;
  const ze_result_t status =
      make_list(find_or_complain(state().contexts, context, "zeCommandListCreate"),
                description->commandQueueGroupOrdinal, (description->flags & kListInOrder) != 0, &made);
  if (made != nullptr) {
    made->flags = description->flags;
  }
  if (made != nullptr && find_in_chain<MutableList>(description->pNext, kMutableList) != nullptr) {
    made->is_mutable = offered("mutable");
    if (!made->is_mutable) {
      violation("zeCommandListCreate of a mutable list, which this driver does not have");
    }
  }
  *result = reinterpret_cast<ze_command_list_handle_t>(made);
  return status;
}

ze_result_t zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t,
                                         const ze_command_queue_desc_t* description, ze_command_list_handle_t* result) {
  ENTER_SUBMISSION(zeCommandListCreateImmediate);
  const Lock lock;
  List* made = nullptr;
  const ze_result_t status = make_list(find_or_complain(state().contexts, context, "zeCommandListCreateImmediate"),
                                       description->ordinal, (description->flags & kQueueInOrder) != 0, &made);
  if (made != nullptr) {
    made->immediate = true;
    made->flags = description->flags;
    made->index = description->index;
    made->priority = description->priority;
    made->synchronous = description->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  }
  *result = reinterpret_cast<ze_command_list_handle_t>(made);
  return status;
}

/// For what may not be done to a list that runs.
List* find_idle(const Lock& lock, ze_command_list_handle_t handle, const char* by) {
  List* list = find_or_complain(state().lists, handle, by);
  if (list != nullptr) {
    must_be_idle(lock, list->open, by);
  }
  return list;
}

ze_result_t zeCommandListDestroy(ze_command_list_handle_t handle) {
  ENTER(zeCommandListDestroy);
  const Lock lock;
  List* list = find_idle(lock, handle, "zeCommandListDestroy");
  if (list == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (list->recording != nullptr) {
    violation("zeCommandListDestroy of a list that is recorded");
  }
  state().lists.destroy(list);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListClose(ze_command_list_handle_t handle) {
  ENTER_SUBMISSION(zeCommandListClose);
  const Lock lock;
  List* list = find_or_complain(state().lists, handle, "zeCommandListClose");
  if (list == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (list->immediate || list->closed) {
    violation("zeCommandListClose of %s list", list->immediate ? "an immediate" : "a closed");
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  list->closed = true;
  list->updated = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListReset(ze_command_list_handle_t handle) {
  ENTER_SUBMISSION(zeCommandListReset);
  const Lock lock;
  List* list = find_idle(lock, handle, "zeCommandListReset");
  if (list == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (list->immediate) {
    violation("zeCommandListReset of an immediate list");
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  list->closed = list->updated = false;
  list->next = {};
  list->commands.clear();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueCreate(ze_context_handle_t context_handle, ze_device_handle_t,
                                 const ze_command_queue_desc_t* description, ze_command_queue_handle_t* result) {
  ENTER_SUBMISSION(zeCommandQueueCreate);
  const Lock lock;
  Context* context = find_or_complain(state().contexts, context_handle, "zeCommandQueueCreate");
  if (context == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (!valid_ordinal(description->ordinal) || description->index >= 4) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  Queue* made = state().queues.make();
  made->context = context;
  made->ordinal = description->ordinal;
  made->synchronous = description->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  made->flags = description->flags;
  made->priority = description->priority;
  made->open = std::make_shared<OpenWork>();
  *result = reinterpret_cast<ze_command_queue_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueDestroy(ze_command_queue_handle_t handle) {
  ENTER(zeCommandQueueDestroy);
  const Lock lock;
  Queue* queue = find_or_complain(state().queues, handle, "zeCommandQueueDestroy");
  if (queue == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  must_be_idle(lock, queue->open, "zeCommandQueueDestroy");
  if (queue->fences != 0) {
    violation("zeCommandQueueDestroy while fences of it exist");
  }
  state().queues.destroy(queue);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t handle, std::uint32_t count,
                                              ze_command_list_handle_t* lists, ze_fence_handle_t fence_handle) {
  constexpr const char* kName = "zeCommandQueueExecuteCommandLists";
  ENTER_SUBMISSION(zeCommandQueueExecuteCommandLists);
  Lock lock;
  Queue* queue = find_or_complain(state().queues, handle, kName);
  if (queue == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  Fence* fence = nullptr;
  if (fence_handle != nullptr) {
    fence = find_or_complain(state().fences, fence_handle, kName);
    if (fence == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    }
    if (fence->queue != queue) {
      violation("%s with a fence of another queue", kName);
    }
    if (fence->used) {
      violation("%s with a fence that was not reset", kName);
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    List* list = find_or_complain(state().lists, lists[i], kName);
    if (list == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    }
    if (list->immediate || list->ordinal != queue->ordinal) {
      violation("%s of a list that is immediate, or of another group of queues", kName);
      return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
    }
    const OperationRef last = put_list(lock, *list, queue->tail, {queue->open, queue->context->open}, kName);
    if (last == nullptr) {
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    queue->tail = last;
  }
  if (fence != nullptr) {
    fence->used = true;
    fence->last = queue->tail;
  }
  return !queue->synchronous || wait_for(lock, queue->tail) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_DEVICE_LOST;
}

/// Waits for an operation as the API's timeouts say.
ze_result_t wait(Lock& lock, const OperationRef& operation, std::uint64_t nanoseconds) {
  if (nanoseconds == ~std::uint64_t{0}) {
    return wait_for(lock, operation) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_DEVICE_LOST;
  }
  return wait_at_most(lock, operation, nanoseconds) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t handle, std::uint64_t nanoseconds) {
  ENTER(zeCommandQueueSynchronize);
  Lock lock;
  const Queue* queue = find_or_complain(state().queues, handle, "zeCommandQueueSynchronize");
  return queue == nullptr ? ZE_RESULT_ERROR_INVALID_NULL_HANDLE : wait(lock, OperationRef(queue->tail), nanoseconds);
}

ze_result_t zeFenceCreate(ze_command_queue_handle_t handle, const ze_fence_desc_t* description,
                          ze_fence_handle_t* result) {
  ENTER_SUBMISSION(zeFenceCreate);
  const Lock lock;
  Queue* queue = find_or_complain(state().queues, handle, "zeFenceCreate");
  if (queue == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  Fence* made = state().fences.make();
  made->queue = queue;
  made->used = (description->flags & ZE_FENCE_FLAG_SIGNALED) != 0;
  ++queue->fences;
  *result = reinterpret_cast<ze_fence_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeFenceDestroy(ze_fence_handle_t handle) {
  ENTER(zeFenceDestroy);
  const Lock lock;
  Fence* fence = find_or_complain(state().fences, handle, "zeFenceDestroy");
  if (fence == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (fence->last != nullptr && !fence->last->done) {
    violation("zeFenceDestroy of a fence in use");
  }
  --fence->queue->fences;
  state().fences.destroy(fence);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeFenceHostSynchronize(ze_fence_handle_t handle, std::uint64_t nanoseconds) {
  ENTER(zeFenceHostSynchronize);
  Lock lock;
  const Fence* fence = find_or_complain(state().fences, handle, "zeFenceHostSynchronize");
  if (fence == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (!fence->used) {
    violation("zeFenceHostSynchronize of a fence that was given to no submission");
    return ZE_RESULT_NOT_READY;
  }
  return wait(lock, OperationRef(fence->last), nanoseconds);
}

ze_result_t zeFenceQueryStatus(ze_fence_handle_t handle) {
  ENTER(zeFenceQueryStatus);
  Lock lock;
  const Fence* fence = find_or_complain(state().fences, handle, "zeFenceQueryStatus");
  if (fence == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  poll(lock);
  return fence->used && (fence->last == nullptr || fence->last->done) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t zeFenceReset(ze_fence_handle_t handle) {
  ENTER(zeFenceReset);
  const Lock lock;
  Fence* fence = find_or_complain(state().fences, handle, "zeFenceReset");
  if (fence == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (fence->last != nullptr && !fence->last->done) {
    violation("zeFenceReset of a fence in use");
  }
  fence->used = false;
  fence->last = nullptr;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t append_lists(ze_command_list_handle_t handle, std::uint32_t count, ze_command_list_handle_t* lists,
                         ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits) {
  constexpr const char* kName = "zeCommandListImmediateAppendCommandListsExp";
  ENTER_SUBMISSION(zeCommandListImmediateAppendCommandListsExp);
  Lock lock;
  List* immediate = find_or_complain(state().lists, handle, kName);
  if (immediate == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (!immediate->immediate) {
    violation("%s to a list that is not immediate", kName);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  Command events;
  RecordedGraph* graph = nullptr;
  ze_result_t status = read_events(events, signal, wait_count, waits, kName);
  if (status == ZE_RESULT_SUCCESS) {
    status = find_recording(*immediate, wait_count, waits, &graph);
  }
  if (graph != nullptr) {
    return kCaptureUnsupported;
  }
  if (status == ZE_RESULT_SUCCESS) {
    status = check_counters(events, *immediate, kName);
  }
  if (status != ZE_RESULT_SUCCESS) {
    return status;
  }
  const std::vector<OpenRef> open = {immediate->open, immediate->context->open};
  // Its place in the list: behind what every command comes behind.
  Chain inner;
  inner.in_order = true;
  inner.barrier = immediate->chain.barrier;
  inner.since = immediate->chain.in_order ? immediate->chain.since : std::vector<OperationRef>();
  Command begin_command;
  begin_command.waits = events.waits;
  OperationRef last = put(lock, inner, begin_command, open);
  for (std::uint32_t i = 0; i < count; ++i) {
    List* list = find_or_complain(state().lists, lists[i], kName);
    if (list == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    }
    if (list->immediate || list->ordinal != immediate->ordinal) {
      violation("%s of a list that is immediate, or of another group of queues", kName);
      return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
    }
    last = put_list(lock, *list, last, open, kName);
    if (last == nullptr) {
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
  }
  Command end;
  end.sets = events.sets;
  inner.barrier = last;
  last = put(lock, inner, end, open);
  if (immediate->chain.in_order) {
    immediate->chain.barrier = last;
    immediate->chain.since.clear();
  } else {
    immediate->chain.since.push_back(last);
  }
  return !immediate->synchronous || wait_for(lock, last) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_DEVICE_LOST;
}

ze_result_t append_lists_with_parameters(ze_command_list_handle_t handle, std::uint32_t count,
                                         ze_command_list_handle_t* lists, const void* more, ze_event_handle_t signal,
                                         std::uint32_t wait_count, ze_event_handle_t* waits) {
  return more != nullptr ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
                         : append_lists(handle, count, lists, signal, wait_count, waits);
}

void fill(ze_command_queue_dditable_t& table) noexcept {
  table.pfnCreate = zeCommandQueueCreate;
  table.pfnDestroy = zeCommandQueueDestroy;
  table.pfnExecuteCommandLists = zeCommandQueueExecuteCommandLists;
  table.pfnSynchronize = zeCommandQueueSynchronize;
}
void fill(ze_command_list_dditable_t& table) noexcept {
  table.pfnCreate = zeCommandListCreate;
  table.pfnCreateImmediate = zeCommandListCreateImmediate;
  table.pfnDestroy = zeCommandListDestroy;
  table.pfnClose = zeCommandListClose;
  table.pfnReset = zeCommandListReset;
  fill_appends(table);
}
void fill(ze_fence_dditable_t& table) noexcept {
  table.pfnCreate = zeFenceCreate;
  table.pfnDestroy = zeFenceDestroy;
  table.pfnHostSynchronize = zeFenceHostSynchronize;
  table.pfnQueryStatus = zeFenceQueryStatus;
  table.pfnReset = zeFenceReset;
}

}  // namespace sim::level_zero
