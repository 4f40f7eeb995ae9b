#include "test/sim/cuda/face.h"

using sim::Lock;
using sim::Status;
using sim::Stream;

static_assert(CU_STREAM_NON_BLOCKING == sim::kNonBlocking && CU_EVENT_DISABLE_TIMING == sim::kDisableTiming);

namespace {

CUresult create(CUstream* stream, unsigned flags, int priority) {
  Stream* made = nullptr;
  const Status status = sim::make_stream(flags, priority, &made);
  if (status == Status::kOk) {
    *stream = reinterpret_cast<CUstream>(made);
  }
  return sim::cuda::result(status);
}

template <class Read>
Status read_stream(CUstream handle, bool per_thread, Read&& read) {
  const Lock lock;
  Stream* stream = nullptr;
  const Status status = sim::find_stream(handle, per_thread, &stream);
  if (status == Status::kOk) {
    read(*stream);
  }
  return status;
}

}  // namespace

FACE cuStreamCreate(CUstream* stream, unsigned flags) {
  ENTER_SUBMISSION(cuStreamCreate);
  const sim::Alone inside;
  return create(stream, flags, 0);
}
FACE cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  ENTER_SUBMISSION(cuStreamCreateWithPriority);
  const sim::Alone inside;
  return create(stream, flags, priority);
}
FACE cuStreamDestroy_v2(CUstream stream) {
  ENTER(cuStreamDestroy_v2);
  Lock lock;
  return sim::cuda::result(sim::destroy_stream(lock, stream));
}

TWICE(cuStreamSynchronize, (CUstream stream), sim::synchronize_stream(stream, per_thread))
TWICE(cuStreamQuery, (CUstream stream), sim::query_stream(stream, per_thread))
SUBMIT_TWICE(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned), sim::wait_event(stream, per_thread, event))
SUBMIT_TWICE(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* data),
             sim::add_host_function(stream, per_thread, function, data))
SUBMIT_TWICE(cuStreamWriteValue32_v2, (CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned),
             sim::write_value(stream, per_thread, to, value, sizeof(value)))
SUBMIT_TWICE(cuStreamWriteValue64_v2, (CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned),
             sim::write_value(stream, per_thread, to, value, sizeof(value)))

TWICE(cuStreamGetCtx, (CUstream handle, CUcontext* context), read_stream(handle, per_thread, [&](const Stream& stream) {
        *context = reinterpret_cast<CUcontext>(stream.context);
      }))
TWICE(cuStreamGetFlags, (CUstream handle, unsigned* flags),
      read_stream(handle, per_thread, [&](const Stream& stream) { *flags = stream.flags; }))
TWICE(cuStreamGetPriority, (CUstream handle, int* priority),
      read_stream(handle, per_thread, [&](const Stream& stream) { *priority = stream.priority; }))
