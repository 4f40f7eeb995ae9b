// Events: made, recorded, waited for by streams. See layer/streams/events.h.

#include "layer/streams/events.h"

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/submission.h"

namespace refrain::layer::cuda {

CUresult wrap::cuEventCreate(CUevent* event, unsigned flags) noexcept {
  const CUresult status = driver.cuEventCreate(event, flags);
  if (status == CUDA_SUCCESS && event != nullptr && (flags & CU_EVENT_INTERPROCESS) == 0) {
    streams::watch_event<CudaLayer>(*event);
  }
  return status;
}

CUresult wrap::cuEventDestroy(CUevent event) noexcept {
  return streams::destroy_event<CudaLayer>(entry::cuEventDestroy, event, [&] { return driver.cuEventDestroy(event); });
}
CUresult wrap::cuEventDestroy_v2(CUevent event) noexcept {
  return streams::destroy_event<CudaLayer>(entry::cuEventDestroy_v2, event,
                                           [&] { return driver.cuEventDestroy_v2(event); });
}

CUresult wrap::cuEventRecord(CUevent event, CUstream stream) noexcept {
  return streams::record_event<CudaLayer>(entry::cuEventRecord, event, stream, DefaultStream::kLegacy, 0,
                                          [&] { return driver.cuEventRecord(event, stream); });
}
CUresult wrap::cuEventRecord_ptsz(CUevent event, CUstream stream) noexcept {
  return streams::record_event<CudaLayer>(entry::cuEventRecord_ptsz, event, stream, DefaultStream::kPerThread, 0,
                                          [&] { return driver.cuEventRecord_ptsz(event, stream); });
}
CUresult wrap::cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) noexcept {
  return streams::record_event<CudaLayer>(entry::cuEventRecordWithFlags, event, stream, DefaultStream::kLegacy, flags,
                                          [&] { return driver.cuEventRecordWithFlags(event, stream, flags); });
}
CUresult wrap::cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned flags) noexcept {
  return streams::record_event<CudaLayer>(entry::cuEventRecordWithFlags_ptsz, event, stream, DefaultStream::kPerThread,
                                          flags,
                                          [&] { return driver.cuEventRecordWithFlags_ptsz(event, stream, flags); });
}

CUresult wrap::cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) noexcept {
  return streams::wait_event<CudaLayer>(entry::cuStreamWaitEvent, stream, DefaultStream::kLegacy, event, flags,
                                        [&] { return driver.cuStreamWaitEvent(stream, event, flags); });
}
CUresult wrap::cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned flags) noexcept {
  return streams::wait_event<CudaLayer>(entry::cuStreamWaitEvent_ptsz, stream, DefaultStream::kPerThread, event, flags,
                                        [&] { return driver.cuStreamWaitEvent_ptsz(stream, event, flags); });
}

}  // namespace refrain::layer::cuda
