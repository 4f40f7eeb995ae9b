// Streams, events, captures.
#include "test/sim/hip/face.h"

using sim::Lock;
using sim::Status;
using sim::Stream;

static_assert(hipStreamNonBlocking == sim::kNonBlocking && hipEventDisableTiming == sim::kDisableTiming);

namespace {

Status create(hipStream_t* stream, unsigned flags, int priority) {
  Stream* made = nullptr;
  const Status status = sim::make_stream(flags, priority, &made);
  if (status == Status::kOk) {
    made->device = sim::hip::device();
    *stream = reinterpret_cast<hipStream_t>(made);
  }
  return status;
}

template <class Read>
Status read_stream(hipStream_t handle, Read&& read) {
  const Lock lock;
  Stream* stream = nullptr;
  const Status status = sim::find_stream(handle, false, &stream);
  if (status == Status::kOk) {
    read(*stream);
  }
  return status;
}

Status create_event(hipEvent_t* event, unsigned flags) {
  sim::Event* made = nullptr;
  const Status status = sim::make_event(flags, &made);
  if (status == Status::kOk) {
    *event = reinterpret_cast<hipEvent_t>(made);
  }
  return status;
}

Status end_capture(hipStream_t stream, bool per_thread, hipGraph_t* graph) {
  sim::Graph* made = nullptr;
  const Status status = sim::end_capture(stream, per_thread, &made);
  *graph = reinterpret_cast<hipGraph_t>(made);
  return status;
}

Status is_capturing(hipStream_t stream, hipStreamCaptureStatus* answer) {
  int found = 0;
  const Status status = sim::capture_status(stream, false, &found);
  *answer = static_cast<hipStreamCaptureStatus>(found);
  return status;
}

}  // namespace

SUBMITS(hipStreamCreate, (hipStream_t * stream), create(stream, 0, 0))
SUBMITS(hipStreamCreateWithFlags, (hipStream_t * stream, unsigned flags), create(stream, flags, 0))
SUBMITS(hipStreamCreateWithPriority, (hipStream_t * stream, unsigned flags, int priority),
        create(stream, flags, priority))
CALL(hipStreamDestroy, (hipStream_t stream), [&] {
  Lock lock;
  return sim::destroy_stream(lock, stream);
}())
CALL(hipStreamSynchronize, (hipStream_t stream), sim::synchronize_stream(stream, false))
CALL(hipStreamSynchronize_spt, (hipStream_t stream), sim::synchronize_stream(stream, true))
CALL(hipStreamQuery, (hipStream_t stream), sim::query_stream(stream, false))
CALL(hipStreamQuery_spt, (hipStream_t stream), sim::query_stream(stream, true))
CALL(hipStreamGetFlags, (hipStream_t handle, unsigned* flags),
     read_stream(handle, [&](const Stream& stream) { *flags = stream.flags; }))
CALL(hipStreamGetPriority, (hipStream_t handle, int* priority),
     read_stream(handle, [&](const Stream& stream) { *priority = stream.priority; }))
SUBMITS_TWICE(hipStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned),
              sim::wait_event(stream, per_thread, event))
SUBMITS_TWICE(hipLaunchHostFunc, (hipStream_t stream, void (*function)(void*), void* data),
              sim::add_host_function(stream, per_thread, function, data))
SUBMITS(hipStreamWriteValue32, (hipStream_t stream, void* to, std::uint32_t value, unsigned),
        sim::write_value(stream, false, sim::address_of(to), value, sizeof(value)))

SUBMITS(hipEventCreate, (hipEvent_t * event), create_event(event, 0))
SUBMITS(hipEventCreateWithFlags, (hipEvent_t * event, unsigned flags), create_event(event, flags))
CALL(hipEventDestroy, (hipEvent_t event), sim::destroy_event(event))
SUBMITS_TWICE(hipEventRecord, (hipEvent_t event, hipStream_t stream), sim::record_event(event, stream, per_thread))
SUBMITS(hipEventRecordWithFlags, (hipEvent_t event, hipStream_t stream, unsigned flags),
        flags > 1 ? Status::kInvalidValue : sim::record_event(event, stream, false))
CALL(hipEventQuery, (hipEvent_t event), sim::look_at_event(event, false))
CALL(hipEventSynchronize, (hipEvent_t event), sim::look_at_event(event, true))
CALL(hipEventElapsedTime, (float* milliseconds, hipEvent_t start, hipEvent_t end),
     sim::elapsed(milliseconds, start, end))

SUBMITS_TWICE(hipStreamBeginCapture, (hipStream_t stream, hipStreamCaptureMode mode),
              sim::begin_capture(stream, per_thread, static_cast<sim::CaptureMode>(mode)))
SUBMITS_TWICE(hipStreamEndCapture, (hipStream_t stream, hipGraph_t* graph), end_capture(stream, per_thread, graph))
CALL(hipStreamIsCapturing, (hipStream_t stream, hipStreamCaptureStatus* answer), is_capturing(stream, answer))
