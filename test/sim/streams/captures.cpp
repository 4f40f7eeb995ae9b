// Stream captures of the program: what is put into the stream becomes a graph.
#include "test/sim/streams/objects.h"

namespace sim {
namespace {

/// Whether a call of this thread that a capture forbids ends it.
bool forbids(const Capture& capture) {
  const bool own = capture.thread == std::this_thread::get_id();
  switch (capture_mode()) {
    case CaptureMode::kGlobal:
      return capture.mode == CaptureMode::kGlobal || (own && capture.mode == CaptureMode::kThreadLocal);
    case CaptureMode::kThreadLocal: return own && capture.mode != CaptureMode::kRelaxed;
    default: return false;
  }
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

}  // namespace

CaptureMode& capture_mode() noexcept {
  thread_local CaptureMode mode = CaptureMode::kGlobal;
  return mode;
}

Status begin_capture(const void* handle, bool per_thread, CaptureMode mode) {
  const Lock lock;
  Stream* stream = nullptr;
  if (const Status status = find_stream(handle, per_thread, &stream); status != Status::kOk) {
    return status;
  }
  if (stream->legacy || stream->capture != nullptr) {
    return Status::kCaptureUnsupported;
  }
  auto* capture = new Capture;
  capture->graph = state().graphs.make();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  stream->capture = capture;
  state().captures.push_back(capture);
  state().kept_captures.push_back(capture);
  return Status::kOk;
}

Status end_capture(const void* handle, bool per_thread, Graph** graph) {
  const Lock lock;
  *graph = nullptr;
  Stream* stream = nullptr;
  if (const Status status = find_stream(handle, per_thread, &stream); status != Status::kOk) {
    return status;
  }
  Capture* capture = stream->capture;
  if (capture == nullptr) {
    return Status::kIllegalState;
  }
  if (capture->origin != stream) {
    return Status::kCaptureUnmatched;
  }
  if (capture->mode != CaptureMode::kRelaxed && capture->thread != std::this_thread::get_id()) {
    return Status::kCaptureWrongThread;
  }
  const bool joined = reaches_all(*capture->graph, stream->captured_tail);
  for (Stream* each : state().streams.all()) {
    if (each->capture == capture) {
      each->capture = nullptr;
      each->captured_tail.clear();
    }
  }
  stream->capture = nullptr;  // of the thread's default stream, which is in no table
  stream->captured_tail.clear();
  std::erase(state().captures, capture);
  if (capture->invalid || !joined) {
    return capture->invalid ? Status::kCaptureInvalidated : Status::kCaptureUnjoined;
  }
  *graph = capture->graph;
  return Status::kOk;
}

Status capture_status(const void* handle, bool per_thread, int* result) {
  const Lock lock;
  Stream* stream = nullptr;
  const Status status = find_stream(handle, per_thread, &stream);
  if (status == Status::kOk) {
    *result = stream->capture == nullptr ? 0 : stream->capture->invalid ? 2 : 1;
  }
  return status;
}

Status forbidden_in_captures() {
  Status status = Status::kOk;
  for (Capture* capture : state().captures) {
    if (forbids(*capture)) {
      capture->invalid = true;
      status = Status::kCaptureUnsupported;
    }
  }
  return status;
}

Status forbidden_in_captures_of(const Context& context) {
  Status status = Status::kOk;
  for (Capture* capture : state().captures) {
    if (capture->origin->context == &context) {
      capture->invalid = true;
      status = Status::kCaptureUnsupported;
    }
  }
  return status;
}

}  // namespace sim
