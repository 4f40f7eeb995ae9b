// Streams, and the order of what is put into them.
#include <array>

#include "test/sim/core/calls.h"
#include "test/sim/streams/objects.h"

namespace sim {
namespace {

bool blocking(const Stream& stream) noexcept {
  return !stream.legacy && (stream.flags & kNonBlocking) == 0;
}

/// What names the legacy stream names all blocking ones, also those that capture.
Status forbidden_in_legacy(const Stream& legacy) {
  Status status = Status::kOk;
  for (Capture* capture : state().captures) {
    if (capture->origin->context == legacy.context && blocking(*capture->origin)) {
      capture->invalid = true;
      status = Status::kCaptureImplicit;
    }
  }
  return status;
}

Stream* per_thread_stream(Context& context) {
  Stream*& known = context.per_thread[std::this_thread::get_id()];
  if (known == nullptr) {
    known = new Stream;
    known->context = &context;
  }
  return known;
}

/// Whether a call that asks about the stream, or waits for it, is refused. A stream that captures can never be asked
/// about, whatever the thread's mode, nor can the legacy stream while it would have to wait for one.
Status forbidden_of(const Stream& stream) {
  if (stream.capture != nullptr) {
    stream.capture->invalid = true;
    return Status::kCaptureUnsupported;
  }
  const Status status = stream.legacy ? forbidden_in_legacy(stream) : Status::kOk;
  return status == Status::kOk ? forbidden_in_captures() : status;
}

/// What is to be done when the stream is.
std::vector<OperationRef> all_of(const Stream& stream) {
  return stream.legacy ? before_next(stream) : std::vector<OperationRef>{stream.tail};
}

}  // namespace

Status make_stream(unsigned flags, int priority, Stream** stream) {
  const Lock lock;
  Context* context = nullptr;
  if (const Status status = current(&context); status != Status::kOk) {
    return status;
  }
  *stream = state().streams.make();
  (*stream)->context = context;
  (*stream)->flags = flags;
  (*stream)->priority = priority;
  return Status::kOk;
}

Status destroy_stream(Lock& lock, void* handle) {
  Stream* stream = state().streams.find(handle);
  if (stream == nullptr) {
    violation("a stream that is none is destroyed");
    return Status::kInvalidHandle;
  }
  // The legacy stream's next work comes after this one's, too. If that is done, the race detector (core/races.h) has to
  // be told: it knows only what somebody asked for.
  if (blocking(*stream) && stream->tail != nullptr && !is_done(lock, stream->tail)) {
    stream->context->left.push_back(stream->tail);
  }
  state().streams.destroy(stream);
  return Status::kOk;
}

Status synchronize_stream(const void* handle, bool per_thread) {
  Lock lock;
  Stream* stream = nullptr;
  Status status = find_stream(handle, per_thread, &stream);
  if (status == Status::kOk) {
    status = forbidden_of(*stream);
  }
  if (status == Status::kOk) {
    for (const OperationRef& operation : all_of(*stream)) {
      status = wait_for(lock, operation) ? status : Status::kTimeout;
    }
  }
  return status;
}

Status end_launch(Lock& lock, const Stream& stream) {
  if (!settings().blocking || stream.capture != nullptr) {
    return Status::kOk;
  }
  return wait_for(lock, stream.tail) ? Status::kOk : Status::kTimeout;
}

Status query_stream(const void* handle, bool per_thread) {
  Lock lock;
  poll(lock);
  Stream* stream = nullptr;
  Status status = find_stream(handle, per_thread, &stream);
  if (status == Status::kOk) {
    status = forbidden_of(*stream);
  }
  if (status == Status::kOk) {
    for (const OperationRef& operation : all_of(*stream)) {
      status = is_done(lock, operation) ? status : Status::kNotReady;
    }
  }
  return status;
}

Status wait_event(const void* handle, bool per_thread, const void* event_handle) {
  Lock lock;
  Stream* stream = nullptr;
  Event* event = nullptr;
  Status status = find_stream(handle, per_thread, &stream);
  if (status == Status::kOk) {
    status = find_event(event_handle, &event);
  }
  if (status != Status::kOk) {
    return status;
  }
  if (event->capture != nullptr) {  // the stream joins the capture
    if (stream->capture != nullptr && stream->capture != event->capture) {
      event->capture->invalid = stream->capture->invalid = true;
      return Status::kCaptureMerge;
    }
    stream->capture = event->capture;
    stream->captured_tail.insert(stream->captured_tail.end(), event->captured.begin(), event->captured.end());
    return Status::kOk;
  }
  if (stream->capture != nullptr) {
    stream->capture->invalid = true;
    return Status::kCaptureIsolation;
  }
  check_recorded(*event, "a stream");
  const std::array<OperationRef, 1> more = {event->last};
  return put(lock, *stream, {}, more);
}

Status add_host_function(const void* handle, bool per_thread, void (*function)(void*), void* data) {
  Lock lock;
  Stream* stream = nullptr;
  const Status status = find_stream(handle, per_thread, &stream);
  return status != Status::kOk ? status : put(lock, *stream, host_task(function, data));
}

namespace {

bool is_managed(Address memory, std::size_t bytes) {
  const Allocation* found = find_allocation(memory);
  return found != nullptr && found->type == MemoryType::kShared && bytes != 0 && within(*found, memory, bytes);
}

}  // namespace

Status prefetch(const void* handle, bool per_thread, Address memory, std::size_t bytes) {
  Lock lock;
  Stream* stream = nullptr;
  const Status status = find_stream(handle, per_thread, &stream);
  if (status != Status::kOk) {
    return status;
  }
  return is_managed(memory, bytes) ? put(lock, *stream, {}) : Status::kInvalidValue;
}

Status advise(Address memory, std::size_t bytes) {
  const Lock lock;
  return is_managed(memory, bytes) ? Status::kOk : Status::kInvalidValue;
}

Status write_value(const void* handle, bool per_thread, Address to, std::uint64_t value, std::size_t bytes) {
  Lock lock;
  Stream* stream = nullptr;
  const Status status = find_stream(handle, per_thread, &stream);
  if (status != Status::kOk) {
    return status;
  }
  const Allocation* found = find_allocation(to);
  if (found == nullptr || !within(*found, to, bytes) || to % bytes != 0) {
    return Status::kInvalidValue;
  }
  return put(lock, *stream, fill_task(to, &value, bytes, bytes));
}

Status find_stream(const void* handle, bool per_thread, Stream** stream) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value <= 2) {
    Context* context = nullptr;
    const Status status = current(&context);
    if (status == Status::kOk) {
      const bool legacy = value == 1 || (value == 0 && !per_thread);
      *stream = legacy ? context->legacy : per_thread_stream(*context);
    }
    return status;
  }
  *stream = state().streams.find(const_cast<void*>(handle));
  if (*stream == nullptr) {
    violation("use of a stream that is none");
    return Status::kInvalidHandle;
  }
  return Status::kOk;
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
    before.insert(before.end(), stream.context->left.begin(), stream.context->left.end());
  } else if (blocking(stream)) {
    before.push_back(stream.context->legacy->tail);
  }
  return before;
}

Status put(Lock& lock, Stream& stream, Task task, std::span<const OperationRef> more) {
  // Whichever context is current, or none (test/gpu/context_rules.cu).
  if (stream.capture != nullptr) {
    if (stream.capture->invalid) {
      return Status::kCaptureInvalidated;
    }
    if (!stream.captured_tail.empty() || task.kind != Task::Kind::kEmpty) {
      Node* made = state().nodes.make();
      if (task.early && stream.captured_tail.size() == 1 && stream.captured_tail[0]->task.kind == Task::Kind::kKernel) {
        made->early = stream.captured_tail[0];
      }
      add_node(*stream.capture->graph, *made, std::move(task), stream.captured_tail);
      stream.captured_tail = {made};
    }
    return Status::kOk;
  }
  if (stream.legacy) {
    if (const Status status = forbidden_in_legacy(stream); status != Status::kOk) {
      return status;
    }
  }
  const bool overtakes = task.early && may_overtake(task) && !stream.ahead.empty();
  const bool kernel = task.kind == Task::Kind::kKernel;
  std::vector<OperationRef> before = overtakes ? stream.ahead : before_next(stream);
  before.insert(before.end(), more.begin(), more.end());
  const std::array<OperationRef, 2> both = {stream.tail,
                                            schedule(lock, stream.context->open, std::move(task), before, {}, &stream)};
  stream.tail = overtakes ? schedule_node(lock, {stream.context->open}, {}, both, {}) : both[1];
  stream.ahead = kernel ? std::move(before) : std::vector<OperationRef>();
  if (stream.legacy) {
    stream.context->left.clear();
  }
  return Status::kOk;
}

}  // namespace sim
