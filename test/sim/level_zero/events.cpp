// Event pools and events.
#include "test/sim/core/checks.h"
#include "test/sim/level_zero/objects.h"

namespace sim::level_zero {
namespace {

ze_result_t zeEventPoolCreate(ze_context_handle_t context_handle, const ze_event_pool_desc_t* description,
                              std::uint32_t, ze_device_handle_t*, ze_event_pool_handle_t* result) {
  ENTER_SUBMISSION(zeEventPoolCreate);
  const Lock lock;
  Context* context = find_or_complain(state().contexts, context_handle, "zeEventPoolCreate");
  if (context == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (description->count == 0) {
    return ZE_RESULT_ERROR_INVALID_SIZE;
  }
  const auto* counters = find_in_chain<CounterBasedPool>(description->pNext, kCounterBasedPool);
  if (counters != nullptr && (!offered("counter") || (counters->flags & CounterBasedPool::kNotImmediate) != 0)) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
  EventPool* made = state().pools.make();
  made->counters = counters != nullptr;
  made->context = context;
  made->used.assign(description->count, false);
  made->flags = description->flags;
  *result = reinterpret_cast<ze_event_pool_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t handle) {
  ENTER(zeEventPoolDestroy);
  const Lock lock;
  EventPool* pool = find_or_complain(state().pools, handle, "zeEventPoolDestroy");
  if (pool == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  for (const bool used : pool->used) {
    if (used) {
      violation("zeEventPoolDestroy while events of it exist");
      break;
    }
  }
  state().pools.destroy(pool);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventCreate(ze_event_pool_handle_t handle, const ze_event_desc_t* description,
                          ze_event_handle_t* result) {
  ENTER_SUBMISSION(zeEventCreate);
  const Lock lock;
  EventPool* pool = find_or_complain(state().pools, handle, "zeEventCreate");
  if (pool == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (description->index >= pool->used.size()) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (pool->used[description->index]) {
    violation("zeEventCreate: there is an event at this place of the pool");
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  pool->used[description->index] = true;
  Event* made = state().events.make();
  made->pool = pool;
  made->index = description->index;
  made->signal = std::make_shared<Signal>();
  made->serial = ++state().last_serial;
  *result = reinterpret_cast<ze_event_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventDestroy(ze_event_handle_t handle) {
  ENTER(zeEventDestroy);
  const Lock lock;
  Event* event = find_or_complain(state().events, handle, "zeEventDestroy");
  if (event == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  must_be_unused(lock, *event->signal, "zeEventDestroy");
  if (event->recording != nullptr) {
    violation("zeEventDestroy of an event of a graph that is being recorded");
  }
  if (event->counted != nullptr && !event->counted->done) {
    violation("zeEventDestroy of a counter-based event that work in flight signals");
  }
  event->pool->used[event->index] = false;
  state().events.destroy(event);
  return ZE_RESULT_SUCCESS;
}

/// `use(lock, event)` under the lock.
template <class Use>
ze_result_t with_event(const char* name, ze_event_handle_t handle, Use&& use) {
  if (const ze_result_t status = begin(name); status != ZE_RESULT_SUCCESS) {
    return status;
  }
  Lock lock;
  Event* event = find_or_complain(state().events, handle, name);
  return event == nullptr ? ZE_RESULT_ERROR_INVALID_NULL_HANDLE : use(lock, *event);
}

ze_result_t zeEventHostSignal(ze_event_handle_t handle) {
  return with_event("zeEventHostSignal", handle, [](const Lock& lock, const Event& event) {
    if (event.pool->counters) {
      violation("zeEventHostSignal of a counter-based event");
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    if (event.signal->set) {
      violation("zeEventHostSignal of an event that is signalled");
    }
    set_signal(lock, event.signal);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeEventHostReset(ze_event_handle_t handle) {
  return with_event("zeEventHostReset", handle, [](const Lock& lock, const Event& event) {
    if (event.pool->counters) {
      violation("zeEventHostReset of a counter-based event");
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    must_be_unused(lock, *event.signal, "zeEventHostReset");
    reset_signal(lock, event.signal);
    return ZE_RESULT_SUCCESS;
  });
}

/// Waits for the last command that signals it, whatever comes meanwhile.
ze_result_t synchronize_counter(Lock& lock, const Event& event, std::uint64_t nanoseconds) {
  const OperationRef last = event.counted;
  if (last == nullptr) {
    violation("zeEventHostSynchronize of a counter-based event that nothing signals");
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (nanoseconds == ~std::uint64_t{0}) {
    return wait_for(lock, last) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_DEVICE_LOST;
  }
  return wait_at_most(lock, last, nanoseconds) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t zeEventHostSynchronize(ze_event_handle_t handle, std::uint64_t nanoseconds) {
  return with_event("zeEventHostSynchronize", handle, [nanoseconds](Lock& lock, const Event& event) {
    if (event.recording != nullptr) {
      return kCaptureUnsupported;
    }
    if (event.pool->counters) {
      return synchronize_counter(lock, event, nanoseconds);
    }
    const SignalRef signal = event.signal;
    if (nanoseconds == ~std::uint64_t{0}) {
      return wait_for(lock, signal) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_DEVICE_LOST;
    }
    return wait_at_most(lock, signal, nanoseconds) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
  });
}

ze_result_t zeEventQueryStatus(ze_event_handle_t handle) {
  return with_event("zeEventQueryStatus", handle, [](Lock& lock, const Event& event) {
    poll(lock);
    if (event.pool->counters) {
      return is_done(lock, event.counted) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
    }
    return event.signal->set ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
  });
}

ze_result_t zeEventQueryKernelTimestamp(ze_event_handle_t handle, ze_kernel_timestamp_result_t* result) {
  return with_event("zeEventQueryKernelTimestamp", handle, [result](const Lock&, const Event& event) {
    if ((event.pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) == 0) {
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    const bool counter = event.pool->counters;
    if (counter ? event.counted == nullptr || !event.counted->done : !event.signal->set) {
      return ZE_RESULT_NOT_READY;
    }
    result->global.kernelStart = static_cast<std::uint64_t>(counter ? event.counted->started_ns : event.started_ns);
    result->global.kernelEnd = static_cast<std::uint64_t>(counter ? event.counted->done_ns : event.done_ns);
    result->context = result->global;
    return ZE_RESULT_SUCCESS;
  });
}

}  // namespace

void fill(ze_event_pool_dditable_t& table) noexcept {
  table.pfnCreate = zeEventPoolCreate;
  table.pfnDestroy = zeEventPoolDestroy;
}
void fill(ze_event_dditable_t& table) noexcept {
  table.pfnCreate = zeEventCreate;
  table.pfnDestroy = zeEventDestroy;
  table.pfnHostSignal = zeEventHostSignal;
  table.pfnHostReset = zeEventHostReset;
  table.pfnHostSynchronize = zeEventHostSynchronize;
  table.pfnQueryStatus = zeEventQueryStatus;
  table.pfnQueryKernelTimestamp = zeEventQueryKernelTimestamp;
}

}  // namespace sim::level_zero
