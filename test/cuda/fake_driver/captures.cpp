// Stream captures of the program: what is put into the stream becomes a graph.
#include <algorithm>
#include <utility>

#include "test/cuda/fake_driver/objects.h"
#include "test/cuda/fake_driver/twice.h"

namespace fake {
namespace {

CUstreamCaptureMode& mode_of_thread() noexcept {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

/// Whether a call of this thread that a capture forbids ends it.
bool forbids(const Capture& capture) {
  const bool own = capture.thread == std::this_thread::get_id();
  switch (mode_of_thread()) {
    case CU_STREAM_CAPTURE_MODE_GLOBAL:
      return capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
             (own && capture.mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    case CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: return own && capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    default: return false;
  }
}

CUresult begin(CUstream handle, bool per_thread, CUstreamCaptureMode mode) {
  const Lock lock;
  Stream* stream = nullptr;
  if (const CUresult status = find_stream(handle, per_thread, &stream); status != CUDA_SUCCESS) {
    return status;
  }
  if (stream->legacy || stream->capture != nullptr) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  auto* capture = new Capture;
  capture->graph = state().graphs.make();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  stream->capture = capture;
  state().captures.push_back(capture);
  state().kept_captures.push_back(capture);
  return CUDA_SUCCESS;
}

bool reaches_all(const Graph& graph, const std::vector<Node*>& ends) {
  std::set<const Node*> seen;
  std::vector<const Node*> left(ends.begin(), ends.end());
  while (!left.empty()) {
    const Node* node = left.back();
    left.pop_back();
    if (seen.insert(node).second) {
      left.insert(left.end(), node->before.begin(), node->before.end());
    }
  }
  return seen.size() == graph.nodes.size();
}

CUresult end(CUstream handle, bool per_thread, CUgraph* graph) {
  const Lock lock;
  Stream* stream = nullptr;
  if (const CUresult status = find_stream(handle, per_thread, &stream); status != CUDA_SUCCESS) {
    return status;
  }
  Capture* capture = stream->capture;
  *graph = nullptr;
  if (capture == nullptr) {
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  if (capture->origin != stream) {
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  const bool joined = reaches_all(*capture->graph, stream->captured_tail);
  for (Stream* each : state().streams.all()) {
    if (each->capture == capture) {
      each->capture = nullptr;
      each->captured_tail.clear();
    }
  }
  std::erase(state().captures, capture);
  if (capture->invalid || !joined) {
    return capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  *graph = reinterpret_cast<CUgraph>(capture->graph);
  return CUDA_SUCCESS;
}

CUresult is_capturing(CUstream handle, bool per_thread, CUstreamCaptureStatus* result) {
  const Lock lock;
  Stream* stream = nullptr;
  const CUresult status = find_stream(handle, per_thread, &stream);
  if (status == CUDA_SUCCESS) {
    *result = stream->capture == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  }
  return status;
}

}  // namespace

CUresult forbidden_in_captures() {
  CUresult status = CUDA_SUCCESS;
  for (Capture* capture : state().captures) {
    if (forbids(*capture)) {
      capture->invalid = true;
      status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  return status;
}

CUresult forbidden_in_captures_of(const Context& context) {
  CUresult status = CUDA_SUCCESS;
  for (Capture* capture : state().captures) {
    if (capture->origin->context == &context) {
      capture->invalid = true;
      status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  return status;
}

}  // namespace fake

FAKE cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  ENTER(cuThreadExchangeStreamCaptureMode);
  std::swap(*mode, fake::mode_of_thread());
  return CUDA_SUCCESS;
}
TWICE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), fake::begin(stream, per_thread, mode))
TWICE(cuStreamEndCapture, (CUstream stream, CUgraph* graph), fake::end(stream, per_thread, graph))
TWICE(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus* result),
      fake::is_capturing(stream, per_thread, result))
