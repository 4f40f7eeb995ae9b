// Streams, and the order of what is put into them.
#include <array>

#include "test/cuda/fake_driver/objects.h"
#include "test/cuda/fake_driver/twice.h"

namespace fake {
namespace {

bool blocking(const Stream& stream) noexcept {
  return !stream.legacy && (stream.flags & CU_STREAM_NON_BLOCKING) == 0;
}

CUresult make_stream(const char* name, CUstream* result, unsigned flags, int priority) {
  if (const CUresult status = enter_submission(name); status != CUDA_SUCCESS) {
    return status;
  }
  const Lock lock;
  Context* context = nullptr;
  if (const CUresult status = current(&context); status != CUDA_SUCCESS) {
    return status;
  }
  Stream* made = state().streams.make();
  made->context = context;
  made->flags = flags;
  made->priority = priority;
  *result = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}

Stream* per_thread_stream(Context& context) {
  Stream*& known = context.per_thread[std::this_thread::get_id()];
  if (known == nullptr) {
    known = new Stream;
    known->context = &context;
  }
  return known;
}

/// A stream that captures can't be waited for.
CUresult forbidden_of(const Stream& stream) {
  if (stream.capture == nullptr) {
    return CUDA_SUCCESS;
  }
  stream.capture->invalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/// What is to be done when the stream is.
std::vector<OperationRef> all_of(const Stream& stream) {
  return stream.legacy ? before_next(stream) : std::vector<OperationRef>{stream.tail};
}

CUresult synchronize(CUstream handle, bool per_thread) {
  Lock lock;
  Stream* stream = nullptr;
  CUresult status = find_stream(handle, per_thread, &stream);
  if (status == CUDA_SUCCESS) {
    status = forbidden_of(*stream);
  }
  if (status == CUDA_SUCCESS) {
    for (const OperationRef& operation : all_of(*stream)) {
      wait_for(lock, operation);
    }
  }
  return status;
}

CUresult query(CUstream handle, bool per_thread) {
  const Lock lock;
  Stream* stream = nullptr;
  CUresult status = find_stream(handle, per_thread, &stream);
  if (status == CUDA_SUCCESS) {
    status = forbidden_of(*stream);
  }
  if (status == CUDA_SUCCESS) {
    for (const OperationRef& operation : all_of(*stream)) {
      status = operation == nullptr || operation->done ? status : CUDA_ERROR_NOT_READY;
    }
  }
  return status;
}

CUresult wait_event(CUstream handle, bool per_thread, CUevent event_handle) {
  Lock lock;
  Stream* stream = nullptr;
  Event* event = nullptr;
  CUresult status = find_stream(handle, per_thread, &stream);
  if (status == CUDA_SUCCESS) {
    status = find_event(event_handle, &event);
  }
  if (status != CUDA_SUCCESS) {
    return status;
  }
  if (event->capture != nullptr) {  // the stream joins the capture
    if (stream->capture != nullptr && stream->capture != event->capture) {
      event->capture->invalid = stream->capture->invalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    stream->capture = event->capture;
    stream->captured_tail.insert(stream->captured_tail.end(), event->captured.begin(), event->captured.end());
    return CUDA_SUCCESS;
  }
  if (stream->capture != nullptr) {
    stream->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  const std::array<OperationRef, 1> more = {event->last};
  return put(lock, *stream, {}, more);
}

}  // namespace

CUresult find_stream(CUstream handle, bool per_thread, Stream** stream) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value <= 2) {
    Context* context = nullptr;
    const CUresult status = current(&context);
    if (status == CUDA_SUCCESS) {
      const bool legacy = value == 1 || (value == 0 && !per_thread);
      *stream = legacy ? context->legacy : per_thread_stream(*context);
    }
    return status;
  }
  *stream = state().streams.find(handle);
  if (*stream == nullptr) {
    violation("use of a stream that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  return CUDA_SUCCESS;
}

std::vector<OperationRef> before_next(const Stream& stream) {
  std::vector<OperationRef> before = {stream.tail};
  if (stream.legacy) {
    for (const Stream* other : state().streams.all()) {
      if (other->context == stream.context && blocking(*other)) {
        before.push_back(other->tail);
      }
    }
    for (const auto& [thread, other] : stream.context->per_thread) {
      before.push_back(other->tail);
    }
  } else if (blocking(stream)) {
    before.push_back(stream.context->legacy->tail);
  }
  return before;
}

CUresult put(Lock& lock, Stream& stream, Task task, std::span<const OperationRef> more) {
  if (!is_current(stream.context)) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (stream.capture != nullptr) {
    if (stream.capture->invalid) {
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (!stream.captured_tail.empty() || task.kind != Task::Kind::kEmpty) {
      stream.captured_tail = {add_node(*stream.capture->graph, std::move(task), stream.captured_tail)};
    }
    return CUDA_SUCCESS;
  }
  if (stream.legacy) {
    for (Capture* capture : state().captures) {
      if (capture->origin->context == stream.context && blocking(*capture->origin)) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
      }
    }
  }
  std::vector<OperationRef> before = before_next(stream);
  before.insert(before.end(), more.begin(), more.end());
  stream.tail = schedule(lock, stream.context->open, std::move(task), before);
  return CUDA_SUCCESS;
}

}  // namespace fake

using fake::Lock;
using fake::state;
using fake::Stream;

FAKE cuStreamCreate(CUstream* stream, unsigned flags) {
  return fake::make_stream("cuStreamCreate", stream, flags, 0);
}
FAKE cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return fake::make_stream("cuStreamCreateWithPriority", stream, flags, priority);
}
FAKE cuStreamDestroy_v2(CUstream handle) {
  ENTER(cuStreamDestroy_v2);
  const Lock lock;
  Stream* stream = state().streams.find(handle);
  if (stream == nullptr) {
    fake::violation("cuStreamDestroy of a stream that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  // The legacy stream's next work comes after this one's, too.
  if (fake::blocking(*stream) && stream->tail != nullptr && !stream->tail->done) {
    const std::array<fake::OperationRef, 2> both = {stream->tail, stream->context->legacy->tail};
    stream->context->legacy->tail = schedule(lock, stream->context->open, {}, both);
  }
  state().streams.destroy(stream);
  return CUDA_SUCCESS;
}

TWICE(cuStreamSynchronize, (CUstream stream), fake::synchronize(stream, per_thread))
TWICE(cuStreamQuery, (CUstream stream), fake::query(stream, per_thread))

SUBMIT_TWICE(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned), fake::wait_event(stream, per_thread, event))

namespace {

template <class Read>
CUresult read_stream(CUstream handle, bool per_thread, Read&& read) {
  const Lock lock;
  Stream* stream = nullptr;
  const CUresult status = fake::find_stream(handle, per_thread, &stream);
  if (status == CUDA_SUCCESS) {
    read(*stream);
  }
  return status;
}

}  // namespace

TWICE(cuStreamGetCtx, (CUstream handle, CUcontext* context), read_stream(handle, per_thread, [&](const Stream& stream) {
        *context = reinterpret_cast<CUcontext>(stream.context);
      }))
TWICE(cuStreamGetFlags, (CUstream handle, unsigned* flags),
      read_stream(handle, per_thread, [&](const Stream& stream) { *flags = stream.flags; }))
TWICE(cuStreamGetPriority, (CUstream handle, int* priority),
      read_stream(handle, per_thread, [&](const Stream& stream) { *priority = stream.priority; }))
