#include "test/cuda/fake_driver/objects.h"
#include "test/cuda/fake_driver/twice.h"

namespace fake {

CUresult find_event(CUevent handle, Event** event) {
  *event = state().events.find(handle);
  if (*event == nullptr) {
    violation("use of an event that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  return CUDA_SUCCESS;
}

namespace {

CUresult record(CUevent handle, CUstream stream_handle, bool per_thread) {
  Lock lock;
  Event* event = nullptr;
  Stream* stream = nullptr;
  CUresult status = find_event(handle, &event);
  if (status == CUDA_SUCCESS) {
    status = find_stream(stream_handle, per_thread, &stream);
  }
  if (status != CUDA_SUCCESS) {
    return status;
  }
  if (event->context != stream->context) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  status = put(lock, *stream, {});
  if (status != CUDA_SUCCESS) {
    return status;
  }
  event->capture = stream->capture;
  event->captured = stream->captured_tail;
  if (stream->capture == nullptr) {
    event->recorded = true;
    event->last = stream->tail;
  }
  return CUDA_SUCCESS;
}

/// Whether it is done; waits if asked to.
CUresult look_at(CUevent handle, bool wait) {
  Lock lock;
  Event* event = nullptr;
  if (const CUresult status = find_event(handle, &event); status != CUDA_SUCCESS) {
    return status;
  }
  if (event->capture != nullptr) {
    event->capture->invalid = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  const OperationRef last = event->last;
  if (wait) {
    wait_for(lock, last);
  }
  return last == nullptr || last->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult elapsed(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  const Lock lock;
  Event* start = nullptr;
  Event* end = nullptr;
  CUresult status = find_event(start_handle, &start);
  if (status == CUDA_SUCCESS) {
    status = find_event(end_handle, &end);
  }
  if (status != CUDA_SUCCESS) {
    return status;
  }
  for (const Event* event : {start, end}) {
    if (!event->recorded || (event->flags & CU_EVENT_DISABLE_TIMING) != 0) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!event->last->done) {
      return CUDA_ERROR_NOT_READY;
    }
  }
  *milliseconds = static_cast<float>(end->last->done_ms - start->last->done_ms);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace fake

using fake::Lock;
using fake::state;

FAKE cuEventCreate(CUevent* event, unsigned flags) {
  ENTER_SUBMISSION(cuEventCreate);
  const Lock lock;
  fake::Context* context = nullptr;
  if (const CUresult status = fake::current(&context); status != CUDA_SUCCESS) {
    return status;
  }
  fake::Event* made = state().events.make();
  made->context = context;
  made->flags = flags;
  *event = reinterpret_cast<CUevent>(made);
  return CUDA_SUCCESS;
}
FAKE cuEventDestroy_v2(CUevent handle) {
  ENTER(cuEventDestroy_v2);
  const Lock lock;
  fake::Event* event = nullptr;
  const CUresult status = fake::find_event(handle, &event);
  if (status == CUDA_SUCCESS) {
    state().events.destroy(event);
  }
  return status;
}
SUBMIT_TWICE(cuEventRecord, (CUevent event, CUstream stream), fake::record(event, stream, per_thread))
SUBMIT_TWICE(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned),
             fake::record(event, stream, per_thread))
FAKE cuEventQuery(CUevent event) {
  ENTER(cuEventQuery);
  return fake::look_at(event, false);
}
FAKE cuEventSynchronize(CUevent event) {
  ENTER(cuEventSynchronize);
  return fake::look_at(event, true);
}
FAKE cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  ENTER(cuEventElapsedTime);
  return fake::elapsed(milliseconds, start, end);
}
FAKE cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  ENTER(cuEventElapsedTime_v2);
  return fake::elapsed(milliseconds, start, end);
}
