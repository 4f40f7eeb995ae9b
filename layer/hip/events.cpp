// Events: made, recorded, waited for by streams. See layer/streams/events.h.

#include "layer/streams/events.h"

#include "layer/hip/submission.h"

namespace refrain::layer::hip {
namespace {

template <class Issue>
hipError_t record(const replay::EntryPoint& entry_point, hipEvent_t event, hipStream_t stream, DefaultStream by_default,
                  unsigned flags, Issue&& issue) noexcept {
  return streams::record_event<HipLayer>(
      entry_point, event, [&] { return find_stream(stream, by_default); }, flags, issue);
}

template <class Issue>
hipError_t wait(const replay::EntryPoint& entry_point, hipStream_t stream, hipEvent_t event, unsigned flags,
                DefaultStream by_default, Issue&& issue) noexcept {
  return streams::wait_event<HipLayer>(
      entry_point, [&] { return find_stream(stream, by_default); }, event, flags, issue);
}

void watch(hipError_t status, const hipEvent_t* event, unsigned flags) noexcept {
  if (status == hipSuccess && event != nullptr && (flags & hipEventInterprocess) == 0) {
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
  return record(entry::hipEventRecord, event, stream, DefaultStream::kLegacy, 0,
                [&] { return library.hipEventRecord(event, stream); });
}
hipError_t wrap::hipEventRecord_spt(hipEvent_t event, hipStream_t stream) noexcept {
  return record(entry::hipEventRecord_spt, event, stream, DefaultStream::kPerThread, 0,
                [&] { return library.hipEventRecord_spt(event, stream); });
}
hipError_t wrap::hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) noexcept {
  return record(entry::hipEventRecordWithFlags, event, stream, DefaultStream::kLegacy, flags,
                [&] { return library.hipEventRecordWithFlags(event, stream, flags); });
}

hipError_t wrap::hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) noexcept {
  return wait(entry::hipStreamWaitEvent, stream, event, flags, DefaultStream::kLegacy,
              [&] { return library.hipStreamWaitEvent(stream, event, flags); });
}
hipError_t wrap::hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned flags) noexcept {
  return wait(entry::hipStreamWaitEvent_spt, stream, event, flags, DefaultStream::kPerThread,
              [&] { return library.hipStreamWaitEvent_spt(stream, event, flags); });
}

}  // namespace refrain::layer::hip
