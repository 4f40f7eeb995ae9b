// Calls that wait for the device or ask how far it is, and stream captures of the application.

#include "layer/streams/waits.h"

#include "layer/hip/submission.h"

namespace refrain::layer::hip {
namespace {

hipStream_t waited_for(hipStream_t stream, DefaultStream by_default) noexcept {
  return streams::waited_for<HipLayer>(stream, by_default);
}

}  // namespace

#define WAIT(name, waits, parameters, arguments)                                                   \
  hipError_t wrap::name parameters {                                                               \
    return streams::observe<HipLayer>(entry::name, waits, [&] { return library.name arguments; }); \
  }
WAIT(hipDeviceSynchronize, true, (), ())
WAIT(hipCtxSynchronize, true, (), ())
WAIT(hipMemcpyDtoH, true, (void* to, hipDeviceptr_t from, size_t bytes), (to, from, bytes))
#undef WAIT

#define WAIT(name, by_default)                                                                               \
  hipError_t wrap::name(hipStream_t stream) {                                                                \
    return streams::wait_for_stream<HipLayer>(entry::name, stream, by_default,                               \
                                              [&] { return library.name(waited_for(stream, by_default)); }); \
  }
WAIT(hipStreamSynchronize, DefaultStream::kLegacy)
WAIT(hipStreamSynchronize_spt, DefaultStream::kPerThread)
#undef WAIT

hipError_t wrap::hipEventSynchronize(hipEvent_t event) {
  return streams::wait_for_event<HipLayer>(entry::hipEventSynchronize, event,
                                           [&] { return library.hipEventSynchronize(event); });
}

#define QUERY(name, by_default)                                                                           \
  hipError_t wrap::name(hipStream_t stream) noexcept {                                                    \
    return streams::query_stream<HipLayer>(entry::name, stream, by_default,                               \
                                           [&] { return library.name(waited_for(stream, by_default)); }); \
  }
QUERY(hipStreamQuery, DefaultStream::kLegacy)
QUERY(hipStreamQuery_spt, DefaultStream::kPerThread)
#undef QUERY

hipError_t wrap::hipEventQuery(hipEvent_t event) noexcept {
  return streams::query_event<HipLayer>(entry::hipEventQuery, event, [&] { return library.hipEventQuery(event); });
}

#define COPY(name, parameters, arguments)                                                    \
  hipError_t wrap::name parameters {                                                         \
    return streams::copy_now<HipLayer>(entry::name, [&] { return library.name arguments; }); \
  }
COPY(hipMemcpy, (void* to, const void* from, size_t bytes, hipMemcpyKind kind), (to, from, bytes, kind))
COPY(hipMemcpy_spt, (void* to, const void* from, size_t bytes, hipMemcpyKind kind), (to, from, bytes, kind))
COPY(hipMemcpyHtoD, (hipDeviceptr_t to, void* from, size_t bytes), (to, from, bytes))
COPY(hipMemcpyWithStream, (void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream),
     (to, from, bytes, kind, stream))
#undef COPY

#define BEGIN(name, by_default, parameters, arguments)                                                                \
  hipError_t wrap::name parameters noexcept {                                                                         \
    return streams::begin_capture<HipLayer>(entry::name, stream, by_default, [&] { return library.name arguments; }); \
  }
BEGIN(hipStreamBeginCapture, DefaultStream::kLegacy, (hipStream_t stream, hipStreamCaptureMode mode), (stream, mode))
BEGIN(hipStreamBeginCapture_spt, DefaultStream::kPerThread, (hipStream_t stream, hipStreamCaptureMode mode),
      (stream, mode))
BEGIN(hipStreamBeginCaptureToGraph, DefaultStream::kLegacy,
      (hipStream_t stream, hipGraph_t graph, const hipGraphNode_t* nodes, const void* data, size_t count,
       hipStreamCaptureMode mode),
      (stream, graph, nodes, data, count, mode))
#undef BEGIN

#define END(name, by_default)                                                           \
  hipError_t wrap::name(hipStream_t stream, hipGraph_t* graph) noexcept {               \
    return streams::end_capture<HipLayer>(entry::name, stream, by_default,              \
                                          [&] { return library.name(stream, graph); }); \
  }
END(hipStreamEndCapture, DefaultStream::kLegacy)
END(hipStreamEndCapture_spt, DefaultStream::kPerThread)
#undef END

}  // namespace refrain::layer::hip
