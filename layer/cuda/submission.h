// Submissions of CUDA: layer/streams/submission.h with CUDA's types.
#pragma once

#include "layer/cuda/capture.h"
#include "layer/cuda/objects.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/streams.h"
#include "layer/cuda/wrappers.h"
#include "layer/streams/submission.h"

namespace refrain::layer::cuda {

using capture::mix;
using streams::Call;

template <class Issue>
bool short_way(const replay::EntryPoint& entry_point, CUresult* status, Issue&& issue) noexcept {
  return streams::short_way<CudaLayer>(entry_point, status, issue);
}

template <class... Rest>
CUresult submit(const Call& call, StreamState* stream, Rest&&... rest) noexcept {
  return streams::submit<CudaLayer>(call, stream, rest...);
}

/// A submission that is counted, but never held.
template <class Issue>
CUresult submit_unheld(const replay::EntryPoint& entry_point, OperationKind kind, const char* why, CUstream stream,
                       DefaultStream by_default, Issue&& issue) noexcept {
  return streams::submit_unheld<CudaLayer>(
      entry_point, kind, why, [&] { return find_stream(stream, by_default); }, issue);
}

}  // namespace refrain::layer::cuda
