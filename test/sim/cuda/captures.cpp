#include <utility>

#include "test/sim/cuda/face.h"

using sim::CaptureMode;

static_assert(CU_STREAM_CAPTURE_MODE_RELAXED == static_cast<int>(CaptureMode::kRelaxed));

namespace {

sim::Status end(CUstream stream, bool per_thread, CUgraph* graph) {
  sim::Graph* captured = nullptr;
  const sim::Status status = sim::end_capture(stream, per_thread, &captured);
  *graph = reinterpret_cast<CUgraph>(captured);
  return status;
}

sim::Status is_capturing(CUstream stream, bool per_thread, CUstreamCaptureStatus* result) {
  int found = 0;
  const sim::Status status = sim::capture_status(stream, per_thread, &found);
  *result = found == 0   ? CU_STREAM_CAPTURE_STATUS_NONE
            : found == 1 ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                         : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return status;
}

}  // namespace

FACE cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  ENTER(cuThreadExchangeStreamCaptureMode);
  const CaptureMode before = std::exchange(sim::capture_mode(), static_cast<CaptureMode>(*mode));
  *mode = static_cast<CUstreamCaptureMode>(before);
  return CUDA_SUCCESS;
}
TWICE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
      sim::begin_capture(stream, per_thread, static_cast<CaptureMode>(mode)))
TWICE(cuStreamEndCapture, (CUstream stream, CUgraph* graph), end(stream, per_thread, graph))
TWICE(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus* result), is_capturing(stream, per_thread, result))
