// Calls that wait for the device or ask how far it is, and stream captures of the application.

#include <mutex>
#include <set>

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/wrappers.h"

namespace refrain::layer::cuda {
namespace {

/// A call that observes what was submitted, and submits nothing that could still run when it returns.
template <class Wait>
CUresult observe(const replay::EntryPoint& entry_point, bool waits, Wait&& call) noexcept {
  HostCall host_call(entry_point, false);
  return host_call.done(call(), waits);
}

struct Captures {
  std::mutex mutex;
  std::set<CUstream> streams;
};
Captures& captures() noexcept {
  static Captures& all = *new Captures;
  return all;
}

template <class Begin>
CUresult begin_capture(const replay::EntryPoint& entry_point, CUstream stream, Begin&& begin) noexcept {
  HostCall host_call(entry_point);
  // Counted before it begins: whatever any thread submits from now on may belong to it.
  runtime.captures.fetch_add(1, std::memory_order_seq_cst);
  if (replay::Engine* running = engine(); running != nullptr) {
    running->flush_all(entry_point);
  }
  const CUresult status = begin();
  try {
    const std::lock_guard guard(captures().mutex);
    if (status != CUDA_SUCCESS || !captures().streams.insert(stream).second) {
      runtime.captures.fetch_sub(1, std::memory_order_relaxed);
    }
  } catch (...) {
    // The count stays up: everything passes through from now on.
  }
  return host_call.done(status, false);
}

template <class End>
CUresult end_capture(const replay::EntryPoint& entry_point, CUstream stream, End&& end) noexcept {
  HostCall host_call(entry_point);
  const CUresult status = end();
  if (status != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD && status != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED) {
    const std::lock_guard guard(captures().mutex);
    if (captures().streams.erase(stream) != 0) {
      runtime.captures.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  return host_call.done(status, false);
}

}  // namespace

#define WAIT(name, waits, parameters, arguments)                               \
  CUresult wrap::name parameters noexcept {                                    \
    return observe(entry::name, waits, [&] { return driver.name arguments; }); \
  }
WAIT(cuCtxSynchronize, true, (), ())
WAIT(cuCtxSynchronize_v2, true, (CUcontext context), (context))
WAIT(cuStreamSynchronize, true, (CUstream stream), (stream))
WAIT(cuStreamSynchronize_ptsz, true, (CUstream stream), (stream))
WAIT(cuEventSynchronize, true, (CUevent event), (event))
WAIT(cuStreamQuery, false, (CUstream stream), (stream))
WAIT(cuStreamQuery_ptsz, false, (CUstream stream), (stream))
WAIT(cuEventQuery, false, (CUevent event), (event))
WAIT(cuMemcpyDtoH_v2, true, (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes))
WAIT(cuMemcpyDtoH_v2_ptds, true, (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes))
#undef WAIT

// These may return before the copy is done (device to device, or host memory that was staged): work that
// nobody counted.
#define COPY(name, parameters, arguments)               \
  CUresult wrap::name parameters noexcept {             \
    HostCall host_call(entry::name);                    \
    return host_call.done(driver.name arguments, true); \
  }
COPY(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
COPY(cuMemcpy_ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
COPY(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes))
COPY(cuMemcpyHtoD_v2_ptds, (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes))
#undef COPY

CUresult wrap::cuStreamBeginCapture(CUstream stream) noexcept {
  return begin_capture(entry::cuStreamBeginCapture, stream, [&] {
    // Its first version, without a mode, has the same name in the driver.
    return reinterpret_cast<CUresult (*)(CUstream)>(driver.cuStreamBeginCapture)(stream);
  });
}
CUresult wrap::cuStreamBeginCapture_ptsz(CUstream stream) noexcept {
  return begin_capture(entry::cuStreamBeginCapture_ptsz, stream,
                       [&] { return driver.cuStreamBeginCapture_ptsz(stream); });
}
CUresult wrap::cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return begin_capture(entry::cuStreamBeginCapture_v2, stream,
                       [&] { return driver.cuStreamBeginCapture_v2(stream, mode); });
}
CUresult wrap::cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return begin_capture(entry::cuStreamBeginCapture_v2_ptsz, stream,
                       [&] { return driver.cuStreamBeginCapture_v2_ptsz(stream, mode); });
}
CUresult wrap::cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* nodes,
                                           const CUgraphEdgeData* data, size_t count,
                                           CUstreamCaptureMode mode) noexcept {
  return begin_capture(entry::cuStreamBeginCaptureToGraph, stream,
                       [&] { return driver.cuStreamBeginCaptureToGraph(stream, graph, nodes, data, count, mode); });
}
CUresult wrap::cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* nodes,
                                                const CUgraphEdgeData* data, size_t count,
                                                CUstreamCaptureMode mode) noexcept {
  return begin_capture(entry::cuStreamBeginCaptureToGraph_ptsz, stream, [&] {
    return driver.cuStreamBeginCaptureToGraph_ptsz(stream, graph, nodes, data, count, mode);
  });
}
CUresult wrap::cuStreamEndCapture(CUstream stream, CUgraph* graph) noexcept {
  return end_capture(entry::cuStreamEndCapture, stream, [&] { return driver.cuStreamEndCapture(stream, graph); });
}
CUresult wrap::cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) noexcept {
  return end_capture(entry::cuStreamEndCapture_ptsz, stream,
                     [&] { return driver.cuStreamEndCapture_ptsz(stream, graph); });
}

}  // namespace refrain::layer::cuda
