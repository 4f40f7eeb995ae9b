// Functions that are given events. What a promise is: promises.h.

#include <cstring>
#include <new>

#include "env/reserve.h"
#include "layer/opencl/enqueue.h"

namespace refrain::layer::opencl {
namespace {

EventState* find_event(cl_event event) noexcept {
  return objects.events.find(handle_of(event));
}

EventState* find_promise(cl_event event) noexcept {
  EventState* known = find_event(event);
  return known != nullptr && known->promise ? known : nullptr;
}

/// Submits the work behind a promise, if it is one, and still held.
void flush_promise(replay::Engine& running, const EventState* promise) noexcept {
  if (promise != nullptr && promise->outcome.load(std::memory_order_acquire) == 1) {
    running.flush_lane(promise->lane);
  }
}

/// A callback may be all that the program waits for. The work has to be on its way once the callback is registered and
/// the queue was flushed behind the work, whichever comes first: that ends the stretch, whether it is held or not, so
/// that stretches end in the same place each time.
void await_callback(const EventState& event) noexcept {
  QueueState* queue = objects.queues.find(handle_of(event.queue));
  if (queue == nullptr || event.done.load(std::memory_order_acquire)) {
    return;
  }
  queue->watched.store(true, std::memory_order_seq_cst);
  if (queue->flushes.load(std::memory_order_seq_cst) == event.flushes) {
    return;  // the next flush submits it
  }
  replay::Engine* running = replay::Lane::current != nullptr ? engine_pointer.load(std::memory_order_acquire) : nullptr;
  if (running != nullptr && replay::Lane::current->number() == event.lane) {
    if (const int error = running->flush_own(entry::clSetEventCallback); error != 0) {
      replay::Lane::current->report_later(error);  // not with this call: the callback comes all the same
    }
  }
  if (replay::Engine* holding = engine_with_work(); holding != nullptr && event.promise) {
    flush_promise(*holding, &event);
  }
}

/// Submits it if it is a promise that is still held. Returns the event that stands for it now, which the driver knows.
cl_event materialise(cl_event event) noexcept {
  const EventState* promise = find_promise(event);
  if (promise == nullptr) {
    return event;
  }
  if (replay::Engine* running = engine_with_work(); running != nullptr) {
    flush_promise(*running, promise);
    signal_promises();
  }
  return driver_event(event);
}

template <class Value>
cl_int answer(const Value& value, std::size_t size, void* place, std::size_t* size_ret) noexcept {
  if (place != nullptr) {
    if (size < sizeof(value)) {
      return CL_INVALID_VALUE;
    }
    std::memcpy(place, &value, sizeof(value));
  }
  if (size_ret != nullptr) {
    *size_ret = sizeof(value);
  }
  return CL_SUCCESS;
}

/// What the driver says, or, of a refused submission, what its user event is going to say.
cl_int event_info(const EventState* known, cl_event event, cl_event_info name, std::size_t size, void* value,
                  std::size_t* size_ret) noexcept {
  if (name == CL_EVENT_COMMAND_EXECUTION_STATUS && known != nullptr && known->promise) {
    if (const cl_int refused = known->outcome.load(std::memory_order_acquire); refused < 0) {
      return answer(refused, size, value, size_ret);
    }
  }
  return target.clGetEventInfo(driver_event(event), name, size, value, size_ret);
}

/// A callback of the application on the event of a submission, which knows it by another handle.
struct Callback {
  void(CL_CALLBACK* function)(cl_event, cl_int, void*);
  void* user;
  EventState* promise;
};

void CL_CALLBACK run_callback(cl_event, cl_int status, void* user) {
  auto* callback = static_cast<Callback*>(user);
  callback->function(native<cl_event>(callback->promise->handle.load(std::memory_order_relaxed)), status,
                     callback->user);
  drop_use(*callback->promise);
  delete callback;
}

cl_int release_event(Handle handle) noexcept {
  EventState* known = objects.events.find(handle);
  if (known != nullptr && known->promise) {
    drop_use(*known);
    return CL_SUCCESS;
  }
  if (known != nullptr) {
    if (known->user && known->outcome.load(std::memory_order_relaxed) == 1) {
      state.unset_user_events.fetch_sub(1, std::memory_order_relaxed);  // it never will be set
    }
    objects.events.erase(known);
    objects.events.recycle(known);
  }
  return target.clReleaseEvent(native<cl_event>(handle));
}

}  // namespace

cl_int wrap::clWaitForEvents(cl_uint count, const cl_event* events) {
  HostCall host_call(entry::clWaitForEvents, [&](replay::Engine& running) {
    for (cl_uint i = 0; events != nullptr && i < count; ++i) {
      flush_promise(running, find_promise(events[i]));
    }
  });
  DriverWaits waits;
  const cl_int status = target.clWaitForEvents(count, waits.translate(count, events));
  for (cl_uint i = 0; status == CL_SUCCESS && i < count; ++i) {
    if (EventState* known = find_event(events[i]); known != nullptr) {
      known->done.store(true, std::memory_order_release);
    }
  }
  return host_call.done(status, true);
}

cl_int wrap::clGetEventInfo(cl_event event, cl_event_info name, size_t size, void* value, size_t* size_ret) noexcept {
  const EventState* known = find_event(event);
  if (name == CL_EVENT_COMMAND_EXECUTION_STATUS && known != nullptr) {
    // Asking for the newest submission is waiting in small steps. Asking for older ones is not: the
    // program has gone on since.
    replay::Engine* running = engine();
    if (running != nullptr && running->lane().number() == known->lane &&
        known->sequence + 1 == running->lane().next_sequence()) {
      HostCall host_call(entry::clGetEventInfo, &common::flush_no_other);
      return host_call.done(event_info(known, event, name, size, value, size_ret), false);
    }
  }
  const EventState* promise = known != nullptr && known->promise ? known : nullptr;
  if (promise == nullptr) [[likely]] {
    return target.clGetEventInfo(event, name, size, value, size_ret);
  }
  switch (name) {
    case CL_EVENT_COMMAND_TYPE: return answer(promise->command, size, value, size_ret);
    case CL_EVENT_COMMAND_QUEUE: return answer(promise->queue, size, value, size_ret);
    case CL_EVENT_CONTEXT: return answer(promise->context, size, value, size_ret);
    case CL_EVENT_REFERENCE_COUNT:
      return answer(static_cast<cl_uint>(promise->references.load(std::memory_order_relaxed)), size, value, size_ret);
    default: break;
  }
  const EntryScope scope;
  static_cast<void>(materialise(event));
  return event_info(known, event, name, size, value, size_ret);
}

cl_int wrap::clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t size, void* value,
                                     size_t* size_ret) noexcept {
  // Events of queues with profiling are never promises.
  return find_promise(event) != nullptr ? CL_PROFILING_INFO_NOT_AVAILABLE
                                        : target.clGetEventProfilingInfo(event, name, size, value, size_ret);
}

cl_int wrap::clSetEventCallback(cl_event event, cl_int type, void(CL_CALLBACK* function)(cl_event, cl_int, void*),
                                void* user) noexcept {
  EventState* known = find_event(event);
  if (known == nullptr || function == nullptr || type < CL_COMPLETE || type > CL_SUBMITTED) {
    return target.clSetEventCallback(event, type, function, user);
  }
  const EntryScope scope;
  await_callback(*known);
  if (!known->promise) {
    return target.clSetEventCallback(event, type, function, user);
  }
  EventState* promise = known;
  if (type == CL_COMPLETE && promise->outcome.load(std::memory_order_acquire) == 1) {
    // Still held: the user event will be told when it is complete, and tells the application.
    promise->watched.store(true, std::memory_order_release);
    return target.clSetEventCallback(event, type, function, user);
  }
  cl_event real = materialise(event);
  if (real == event) {  // refused: the user event carries the error
    promise->watched.store(true, std::memory_order_release);
    return target.clSetEventCallback(event, type, function, user);
  }
  const env::UseReserve reserve;  // the program would not need this
  auto* callback = new (std::nothrow) Callback{function, user, promise};
  if (callback == nullptr) {
    return CL_OUT_OF_HOST_MEMORY;
  }
  promise->uses.fetch_add(1, std::memory_order_relaxed);
  const cl_int status = target.clSetEventCallback(real, type, &run_callback, callback);
  if (status != CL_SUCCESS) {
    drop_use(*promise);
    delete callback;
  }
  return status;
}

cl_int wrap::clRetainEvent(cl_event event) noexcept {
  EventState* known = find_event(event);
  if (known != nullptr && known->promise) {
    known->references.fetch_add(1, std::memory_order_relaxed);
    return CL_SUCCESS;
  }
  const cl_int status = target.clRetainEvent(event);
  if (status == CL_SUCCESS && known != nullptr) {
    known->references.fetch_add(1, std::memory_order_relaxed);
  }
  return status;
}

cl_int wrap::clReleaseEvent(cl_event event) noexcept {
  EventState* known = find_event(event);
  if (known == nullptr) {
    return target.clReleaseEvent(event);
  }
  if (known->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return known->promise ? CL_SUCCESS : target.clReleaseEvent(event);
  }
  const EntryScope scope;
  return release_later<&release_event>(known->holder.load(std::memory_order_relaxed), handle_of(event));
}

cl_event wrap::clCreateUserEvent(cl_context context, cl_int* error) noexcept {
  cl_event event = target.clCreateUserEvent(context, error);
  if (event == nullptr) {
    return event;
  }
  if (EventState* record = objects.events.make(); record != nullptr) {
    record->begin();
    record->user = true;
    record->context_number.store(context_id(context), std::memory_order_relaxed);
    if (objects.events.insert(record, handle_of(event))) {
      state.unset_user_events.fetch_add(1, std::memory_order_relaxed);
      return event;
    }
    objects.events.recycle(record);
  }
  if (replay::Engine* running = engine(); running != nullptr) {
    running->fail("out of memory for a user event");  // nothing of ours may wait before it is set
  }
  return event;
}

cl_int wrap::clSetUserEventStatus(cl_event event, cl_int status) noexcept {
  EventState* known = find_event(event);
  if (known != nullptr && known->promise) {
    return CL_INVALID_EVENT;  // to the application it is the event of a command
  }
  HostCall host_call(entry::clSetUserEventStatus, &common::flush_no_other);
  const cl_int answered = target.clSetUserEventStatus(event, status);
  if (answered == CL_SUCCESS && known != nullptr && known->user && known->outcome.exchange(0) == 1) {
    state.unset_user_events.fetch_sub(1, std::memory_order_relaxed);
  }
  return host_call.done(answered, false);
}

}  // namespace refrain::layer::opencl
