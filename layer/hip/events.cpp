// Events: made, recorded, waited for by streams. See layer/streams/events.h.

#include "layer/streams/events.h"

#include "layer/hip/submission.h"

namespace refrain::layer::hip {
namespace {

/// Events are mostly made before anything is submitted: which device they are of can be asked from then on.
void watch(hipError_t status, const hipEvent_t* event, unsigned flags) noexcept {
  if (status == hipSuccess && event != nullptr && (flags & hipEventInterprocess) == 0) {
    static_cast<void>(engine());
    streams::watch_event<HipLayer>(*event);
  }
}

}  // namespace

hipError_t wrap::hipEventCreate(hipEvent_t* event) noexcept {
  const hipError_t status = library.hipEventCreate(event);
  watch(status, event, 0);
  return status;
}
hipError_t wrap::hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) noexcept {
  const hipError_t status = library.hipEventCreateWithFlags(event, flags);
  watch(status, event, flags);
  return status;
}
hipError_t wrap::hipEventDestroy(hipEvent_t event) noexcept {
  return streams::destroy_event<HipLayer>(entry::hipEventDestroy, event,
                                          [&] { return library.hipEventDestroy(event); });
}

hipError_t wrap::hipEventRecord(hipEvent_t event, hipStream_t stream) noexcept {
  return streams::record_event<HipLayer>(entry::hipEventRecord, event, stream, DefaultStream::kLegacy, 0,
                                         [&] { return library.hipEventRecord(event, stream); });
}
hipError_t wrap::hipEventRecord_spt(hipEvent_t event, hipStream_t stream) noexcept {
  return streams::record_event<HipLayer>(entry::hipEventRecord_spt, event, stream, DefaultStream::kPerThread, 0,
                                         [&] { return library.hipEventRecord_spt(event, stream); });
}
hipError_t wrap::hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) noexcept {
  return streams::record_event<HipLayer>(entry::hipEventRecordWithFlags, event, stream, DefaultStream::kLegacy, flags,
                                         [&] { return library.hipEventRecordWithFlags(event, stream, flags); });
}

hipError_t wrap::hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) noexcept {
  return streams::wait_event<HipLayer>(entry::hipStreamWaitEvent, stream, DefaultStream::kLegacy, event, flags,
                                       [&] { return library.hipStreamWaitEvent(stream, event, flags); });
}
hipError_t wrap::hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned flags) noexcept {
  return streams::wait_event<HipLayer>(entry::hipStreamWaitEvent_spt, stream, DefaultStream::kPerThread, event, flags,
                                       [&] { return library.hipStreamWaitEvent_spt(stream, event, flags); });
}

}  // namespace refrain::layer::hip
