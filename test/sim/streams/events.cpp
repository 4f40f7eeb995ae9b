#include "test/sim/core/calls.h"
#include "test/sim/streams/objects.h"

namespace sim {

Status find_event(const void* handle, Event** event) {
  *event = state().events.find(const_cast<void*>(handle));
  if (*event == nullptr) {
    violation("use of an event that is none");
    return Status::kInvalidHandle;
  }
  return Status::kOk;
}

void check_recorded(const Event& event, const char* by) {
  if (settings().unrecorded && !event.recorded && event.capture == nullptr) {
    violation("%s waits for an event that was never recorded", by);
  }
}

Status make_event(unsigned flags, Event** event) {
  const Lock lock;
  Context* context = nullptr;
  if (const Status status = current(&context); status != Status::kOk) {
    return status;
  }
  *event = state().events.make();
  (*event)->context = context;
  (*event)->flags = flags;
  return Status::kOk;
}

Status destroy_event(void* handle) {
  const Lock lock;
  Event* event = nullptr;
  const Status status = find_event(handle, &event);
  if (status == Status::kOk) {
    state().events.destroy(event);
  }
  return status;
}

Status record_event(const void* handle, const void* stream_handle, bool per_thread) {
  Lock lock;
  Event* event = nullptr;
  Stream* stream = nullptr;
  Status status = find_event(handle, &event);
  if (status == Status::kOk) {
    status = find_stream(stream_handle, per_thread, &stream);
  }
  if (status != Status::kOk) {
    return status;
  }
  if (event->context != stream->context) {
    return Status::kInvalidHandle;
  }
  status = put(lock, *stream, {});
  if (status != Status::kOk) {
    return status;
  }
  event->capture = stream->capture;
  event->captured = stream->captured_tail;
  if (stream->capture == nullptr) {
    event->recorded = true;
    event->last = stream->tail;
  }
  return Status::kOk;
}

Status look_at_event(const void* handle, bool wait) {
  Lock lock;
  if (!wait) {
    poll(lock);
  }
  Event* event = nullptr;
  if (const Status status = find_event(handle, &event); status != Status::kOk) {
    return status;
  }
  if (event->capture != nullptr) {
    event->capture->invalid = true;
    return Status::kCapturedEvent;
  }
  if (const Status status = forbidden_in_captures(); status != Status::kOk) {
    return status;
  }
  const OperationRef last = event->last;
  if (wait) {
    check_recorded(*event, "the host");
  }
  if (wait && !wait_for(lock, last)) {
    return Status::kTimeout;
  }
  return is_done(lock, last) ? Status::kOk : Status::kNotReady;
}

Status elapsed(float* milliseconds, const void* start_handle, const void* end_handle) {
  const Lock lock;
  Event* start = nullptr;
  Event* end = nullptr;
  Status status = find_event(start_handle, &start);
  if (status == Status::kOk) {
    status = find_event(end_handle, &end);
  }
  if (status != Status::kOk) {
    return status;
  }
  for (const Event* event : {start, end}) {
    if (!event->recorded || (event->flags & kDisableTiming) != 0) {
      return Status::kInvalidHandle;
    }
    if (!is_done(lock, event->last)) {
      return Status::kNotReady;
    }
  }
  *milliseconds = static_cast<float>((end->last->done_ns - start->last->done_ns) / 1e6);
  return Status::kOk;
}

}  // namespace sim
