// Calls that wait for the device or ask how far it is, and stream captures of the application.

#include "layer/streams/waits.h"

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/submission.h"
#include "layer/cuda/wrappers.h"

namespace refrain::layer::cuda {
namespace {

CUstream waited_for(CUstream stream, DefaultStream by_default) noexcept {
  return streams::waited_for<CudaLayer>(stream, by_default);
}

template <class Begin>
CUresult begin_capture(const replay::EntryPoint& entry_point, CUstream stream, DefaultStream by_default,
                       Begin&& begin) noexcept {
  return streams::begin_capture<CudaLayer>(entry_point, stream, by_default, begin);
}

template <class End>
CUresult end_capture(const replay::EntryPoint& entry_point, CUstream stream, DefaultStream by_default,
                     End&& end) noexcept {
  return streams::end_capture<CudaLayer>(entry_point, stream, by_default, end);
}

}  // namespace

#define WAIT(name, waits, parameters, arguments)                                                   \
  CUresult wrap::name parameters {                                                                 \
    return streams::observe<CudaLayer>(entry::name, waits, [&] { return driver.name arguments; }); \
  }
WAIT(cuCtxSynchronize, true, (), ())
WAIT(cuCtxSynchronize_v2, true, (CUcontext context), (context))
WAIT(cuMemcpyDtoH_v2, true, (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes))
#undef WAIT

#define WAIT(name, by_default)                                                                               \
  CUresult wrap::name(CUstream stream) {                                                                     \
    return streams::wait_for_stream<CudaLayer>(entry::name, stream, by_default,                              \
                                               [&] { return driver.name(waited_for(stream, by_default)); }); \
  }
WAIT(cuStreamSynchronize, DefaultStream::kLegacy)
WAIT(cuStreamSynchronize_ptsz, DefaultStream::kPerThread)
#undef WAIT

CUresult wrap::cuEventSynchronize(CUevent event) {
  return streams::wait_for_event<CudaLayer>(entry::cuEventSynchronize, event,
                                            [&] { return driver.cuEventSynchronize(event); });
}

CUresult wrap::cuMemcpyDtoH_v2_ptds(void* to, CUdeviceptr from, size_t bytes) {
  return streams::observe<CudaLayer>(entry::cuMemcpyDtoH_v2_ptds, true, [&] {
    streams::leave_proxy<CudaLayer>();
    return driver.cuMemcpyDtoH_v2_ptds(to, from, bytes);
  });
}

#define QUERY(name, by_default)                                                                           \
  CUresult wrap::name(CUstream stream) noexcept {                                                         \
    return streams::query_stream<CudaLayer>(entry::name, stream, by_default,                              \
                                            [&] { return driver.name(waited_for(stream, by_default)); }); \
  }
QUERY(cuStreamQuery, DefaultStream::kLegacy)
QUERY(cuStreamQuery_ptsz, DefaultStream::kPerThread)
#undef QUERY

CUresult wrap::cuEventQuery(CUevent event) noexcept {
  return streams::query_event<CudaLayer>(entry::cuEventQuery, event, [&] { return driver.cuEventQuery(event); });
}

#define COPY(name, parameters, arguments)                                                    \
  CUresult wrap::name parameters {                                                           \
    return streams::copy_now<CudaLayer>(entry::name, [&] { return driver.name arguments; }); \
  }
COPY(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
COPY(cuMemcpy_ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
COPY(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes))
COPY(cuMemcpyHtoD_v2_ptds, (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes))
#undef COPY

CUresult wrap::cuStreamBeginCapture(CUstream stream) noexcept {
  return begin_capture(entry::cuStreamBeginCapture, stream, DefaultStream::kLegacy, [&] {
    // Its first version, without a mode, has the same name in the driver.
    return reinterpret_cast<CUresult (*)(CUstream)>(driver.cuStreamBeginCapture)(stream);
  });
}
CUresult wrap::cuStreamBeginCapture_ptsz(CUstream stream) noexcept {
  return begin_capture(entry::cuStreamBeginCapture_ptsz, stream, DefaultStream::kPerThread,
                       [&] { return driver.cuStreamBeginCapture_ptsz(stream); });
}
CUresult wrap::cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return begin_capture(entry::cuStreamBeginCapture_v2, stream, DefaultStream::kLegacy,
                       [&] { return driver.cuStreamBeginCapture_v2(stream, mode); });
}
CUresult wrap::cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return begin_capture(entry::cuStreamBeginCapture_v2_ptsz, stream, DefaultStream::kPerThread,
                       [&] { return driver.cuStreamBeginCapture_v2_ptsz(stream, mode); });
}
CUresult wrap::cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* nodes,
                                           const CUgraphEdgeData* data, size_t count,
                                           CUstreamCaptureMode mode) noexcept {
  return begin_capture(entry::cuStreamBeginCaptureToGraph, stream, DefaultStream::kLegacy,
                       [&] { return driver.cuStreamBeginCaptureToGraph(stream, graph, nodes, data, count, mode); });
}
CUresult wrap::cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* nodes,
                                                const CUgraphEdgeData* data, size_t count,
                                                CUstreamCaptureMode mode) noexcept {
  return begin_capture(entry::cuStreamBeginCaptureToGraph_ptsz, stream, DefaultStream::kPerThread, [&] {
    return driver.cuStreamBeginCaptureToGraph_ptsz(stream, graph, nodes, data, count, mode);
  });
}
CUresult wrap::cuStreamEndCapture(CUstream stream, CUgraph* graph) noexcept {
  return end_capture(entry::cuStreamEndCapture, stream, DefaultStream::kLegacy,
                     [&] { return driver.cuStreamEndCapture(stream, graph); });
}
CUresult wrap::cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) noexcept {
  return end_capture(entry::cuStreamEndCapture_ptsz, stream, DefaultStream::kPerThread,
                     [&] { return driver.cuStreamEndCapture_ptsz(stream, graph); });
}

}  // namespace refrain::layer::cuda
