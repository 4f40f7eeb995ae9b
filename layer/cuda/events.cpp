// Events: made, recorded, waited for by streams. See layer/streams/events.h.

#include "layer/streams/events.h"

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/submission.h"

namespace refrain::layer::cuda {
namespace {

template <class Issue>
CUresult record(const replay::EntryPoint& entry_point, CUevent event, CUstream stream, DefaultStream by_default,
                unsigned flags, Issue&& issue) noexcept {
  return streams::record_event<CudaLayer>(
      entry_point, event, [&] { return find_stream(stream, by_default); }, flags, issue);
}

template <class Issue>
CUresult wait(const replay::EntryPoint& entry_point, CUstream stream, CUevent event, unsigned flags,
              DefaultStream by_default, Issue&& issue) noexcept {
  return streams::wait_event<CudaLayer>(
      entry_point, [&] { return find_stream(stream, by_default); }, event, flags, issue);
}

template <class Destroy>
CUresult destroy(const replay::EntryPoint& entry_point, CUevent event, Destroy&& call) noexcept {
  return streams::destroy_event<CudaLayer>(entry_point, event, call);
}

}  // namespace

CUresult wrap::cuEventCreate(CUevent* event, unsigned flags) noexcept {
  const CUresult status = driver.cuEventCreate(event, flags);
  if (status == CUDA_SUCCESS && event != nullptr && (flags & CU_EVENT_INTERPROCESS) == 0) {
    streams::watch_event<CudaLayer>(*event);
  }
  return status;
}

CUresult wrap::cuEventDestroy(CUevent event) noexcept {
  return destroy(entry::cuEventDestroy, event, [&] { return driver.cuEventDestroy(event); });
}
CUresult wrap::cuEventDestroy_v2(CUevent event) noexcept {
  return destroy(entry::cuEventDestroy_v2, event, [&] { return driver.cuEventDestroy_v2(event); });
}

CUresult wrap::cuEventRecord(CUevent event, CUstream stream) noexcept {
  return record(entry::cuEventRecord, event, stream, DefaultStream::kLegacy, 0,
                [&] { return driver.cuEventRecord(event, stream); });
}
CUresult wrap::cuEventRecord_ptsz(CUevent event, CUstream stream) noexcept {
  return record(entry::cuEventRecord_ptsz, event, stream, DefaultStream::kPerThread, 0,
                [&] { return driver.cuEventRecord_ptsz(event, stream); });
}
CUresult wrap::cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) noexcept {
  return record(entry::cuEventRecordWithFlags, event, stream, DefaultStream::kLegacy, flags,
                [&] { return driver.cuEventRecordWithFlags(event, stream, flags); });
}
CUresult wrap::cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned flags) noexcept {
  return record(entry::cuEventRecordWithFlags_ptsz, event, stream, DefaultStream::kPerThread, flags,
                [&] { return driver.cuEventRecordWithFlags_ptsz(event, stream, flags); });
}

CUresult wrap::cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) noexcept {
  return wait(entry::cuStreamWaitEvent, stream, event, flags, DefaultStream::kLegacy,
              [&] { return driver.cuStreamWaitEvent(stream, event, flags); });
}
CUresult wrap::cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned flags) noexcept {
  return wait(entry::cuStreamWaitEvent_ptsz, stream, event, flags, DefaultStream::kPerThread,
              [&] { return driver.cuStreamWaitEvent_ptsz(stream, event, flags); });
}

}  // namespace refrain::layer::cuda
