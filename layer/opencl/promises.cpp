#include "layer/opencl/promises.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "layer/opencl/helper_thread.h"
#include "layer/opencl/layer.h"

namespace refrain::layer::opencl {
namespace {

/// Promises that this thread fulfilled and has not signalled yet, newest first.
thread_local EventState* fulfilled __attribute__((tls_model("initial-exec"))) = nullptr;
/// Promises for the helper thread.
std::atomic<EventState*> handed_over{nullptr};
/// This thread is the program's, which may hold what functions of the program wait for.
thread_local bool no_calls __attribute__((tls_model("initial-exec"))) = false;

void hand_over(EventState& promise) noexcept {
  EventState* head = handed_over.load(std::memory_order_relaxed);
  do {
    promise.next_signal = head;
  } while (!handed_over.compare_exchange_weak(head, &promise, std::memory_order_seq_cst, std::memory_order_relaxed));
  wake_helper_thread();
}

void CL_CALLBACK on_complete(cl_event, cl_int status, void* user) {
  auto& promise = *static_cast<EventState*>(user);
  if (no_calls) {  // it was complete already
    hand_over(promise);
    return;
  }
  target.clSetUserEventStatus(native<cl_event>(promise.handle.load(std::memory_order_relaxed)),
                              status < 0 ? status : CL_COMPLETE);
  drop_use(promise);
}

/// The user event is told what became of the submission when that is complete, which consumes one use. False: it has to
/// be told by whoever calls.
bool tell_when_complete(EventState& promise) noexcept {
  const Handle event = promise.native.load(std::memory_order_acquire);
  return event != 0 &&
         target.clSetEventCallback(native<cl_event>(event), CL_COMPLETE, &on_complete, &promise) == CL_SUCCESS;
}

/// Tells the user event what became of the submission, at once if it is complete. Consumes one use.
void signal(EventState& promise) noexcept {
  if (tell_when_complete(promise)) {
    return;
  }
  const int outcome = promise.outcome.load(std::memory_order_acquire);
  const Handle event = promise.native.load(std::memory_order_acquire);
  const auto user_event = native<cl_event>(promise.handle.load(std::memory_order_relaxed));
  if (event == 0) {
    target.clSetUserEventStatus(user_event, outcome < 0 ? outcome : CL_COMPLETE);
  } else {
    // Without a callback the truth can only be told by waiting.
    const cl_event wait = native<cl_event>(event);
    const cl_int status = target.clWaitForEvents(1, &wait);
    target.clSetUserEventStatus(user_event, status == CL_SUCCESS ? CL_COMPLETE : status);
  }
  drop_use(promise);
}

/// The same, in a thread of the program's: never at once, unless nobody else does it because the process ends.
void signal_elsewhere(EventState& promise) noexcept {
  no_calls = true;
  if (!tell_when_complete(promise)) {
    hand_over(promise);
  }
  no_calls = false;
  if (!helper_thread_runs()) {
    signal_handed_over();
  }
}

void made_in(EventState* event, const QueueState& queue) noexcept {
  event->context_number.store(queue.slot.info.context, std::memory_order_relaxed);
  event->comes_before(queue.id);
  event->queue = native<cl_command_queue>(queue.slot.info.handle);
  event->flushes = queue.flushes.load(std::memory_order_relaxed);
}

template <void (*signal_one)(EventState&) noexcept>
void signal_all(EventState* promise) noexcept {
  EventState* ordered = nullptr;  // oldest first
  while (promise != nullptr) {
    EventState* next = promise->next_signal;
    promise->next_signal = ordered;
    ordered = promise;
    promise = next;
  }
  while (ordered != nullptr) {
    EventState* next = ordered->next_signal;
    ordered->next_signal = nullptr;
    signal_one(*ordered);
    ordered = next;
  }
}

}  // namespace

void begin_promise(EventState* promise, const QueueState& queue, cl_command_type command) noexcept {
  promise->begin();
  promise->promise = true;
  promise->command = command;
  promise->context = queue.context;
  promise->outcome.store(1, std::memory_order_relaxed);
  promise->uses.store(2, std::memory_order_relaxed);  // the application and the held operation
  made_in(promise, queue);
}

EventState* make_promise(const QueueState& queue, cl_command_type command) noexcept {
  cl_int status = CL_SUCCESS;
  cl_event user_event =
      target.clCreateUserEvent != nullptr ? target.clCreateUserEvent(queue.context, &status) : nullptr;
  if (user_event == nullptr || status != CL_SUCCESS) {
    return nullptr;
  }
  EventState* promise = objects.events.make();
  if (promise == nullptr) {
    target.clSetUserEventStatus(user_event, CL_COMPLETE);
    target.clReleaseEvent(user_event);
    return nullptr;
  }
  begin_promise(promise, queue, command);
  if (!objects.events.insert(promise, handle_of(user_event))) {
    target.clSetUserEventStatus(user_event, CL_COMPLETE);
    target.clReleaseEvent(user_event);
    objects.events.recycle(promise);
    return nullptr;
  }
  return promise;
}

void fulfil_promise(EventState& promise, Handle event, int status) noexcept {
  promise.native.store(event, std::memory_order_release);
  promise.outcome.store(event != 0 ? 0 : (status != 0 ? status : CL_OUT_OF_RESOURCES), std::memory_order_release);
  // The operation's use becomes the signal's.
  const bool visible =
      promise.references.load(std::memory_order_acquire) != 0 || promise.watched.load(std::memory_order_acquire);
  if (!visible || promise.handle.load(std::memory_order_relaxed) == 0) {
    drop_use(promise);  // nobody can see the user event any more
    return;
  }
  if (replay::Lane::current != nullptr) {
    promise.next_signal = fulfilled;
    fulfilled = &promise;
    return;
  }
  hand_over(promise);
}

void signal_promises() noexcept {
  while (fulfilled != nullptr) {
    EventState* list = fulfilled;
    fulfilled = nullptr;
    signal_all<&signal_elsewhere>(list);
  }
}

void signal_handed_over() noexcept {
  signal_all<&signal>(handed_over.exchange(nullptr, std::memory_order_acquire));
}

EntryScope::~EntryScope() {
  if (fulfilled != nullptr) {
    signal_promises();
  }
}

void drop_use(EventState& promise) noexcept {
  if (promise.uses.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  const Handle user_event = promise.handle.load(std::memory_order_relaxed);
  const Handle event = promise.native.load(std::memory_order_relaxed);
  objects.events.erase(&promise);
  objects.events.recycle(&promise);
  if (event != 0) {
    target.clReleaseEvent(native<cl_event>(event));
  }
  if (user_event != 0) {
    target.clReleaseEvent(native<cl_event>(user_event));
  }
}

void register_event(cl_event event, std::uint64_t lane, std::uint64_t sequence, const QueueState& queue) noexcept {
  EventState* record = objects.events.make();
  if (record == nullptr) {
    return;  // waits for it will be unknown: only less is replayed
  }
  record->begin();
  record->lane = lane;
  record->sequence = sequence;
  made_in(record, queue);
  if (!objects.events.insert(record, handle_of(event))) {
    objects.events.recycle(record);
  }
}

cl_event driver_event(cl_event event) noexcept {
  const EventState* record = objects.events.find(handle_of(event));
  if (record != nullptr && record->promise) {
    if (const Handle kept = record->native.load(std::memory_order_acquire); kept != 0) {
      return native<cl_event>(kept);
    }
    signal_promises();  // a refused submission: the user event itself carries the error
  }
  return event;
}

DriverWaits::~DriverWaits() {
  delete[] many_;
}

const cl_event* DriverWaits::translate(cl_uint count, const cl_event* events) noexcept {
  if (count == 0 || events == nullptr) {
    return events;
  }
  const bool any_promise = std::any_of(events, events + count, [](cl_event event) {
    const EventState* record = objects.events.find(handle_of(event));
    return record != nullptr && record->promise;
  });
  if (!any_promise) {
    return events;
  }
  cl_event* translated = fixed_;
  if (count > kFixed) {
    many_ = new (std::nothrow) cl_event[count];
    if (many_ == nullptr) {
      return events;  // the user events themselves do as well, only later
    }
    translated = many_;
  }
  std::transform(events, events + count, translated, &driver_event);
  return translated;
}

}  // namespace refrain::layer::opencl
