// Submissions of HIP: layer/streams/submission.h with HIP's types.
#pragma once

#include "layer/hip/runtime.h"
#include "layer/hip/wrappers.h"
#include "layer/streams/submission.h"

namespace refrain::layer::hip {

using capture::mix;
using streams::Call;

template <class Issue>
bool short_way(const replay::EntryPoint& entry_point, hipError_t* status, Issue&& issue) noexcept {
  return streams::short_way<HipLayer>(entry_point, status, issue);
}

template <class... Rest>
hipError_t submit(const Call& call, StreamState* stream, Rest&&... rest) noexcept {
  return streams::submit<HipLayer>(call, stream, rest...);
}

/// A submission that is counted, but never held.
template <class Issue>
hipError_t submit_unheld(const replay::EntryPoint& entry_point, OperationKind kind, const char* why, hipStream_t stream,
                         DefaultStream by_default, Issue&& issue) noexcept {
  return streams::submit_unheld<HipLayer>(
      entry_point, kind, why, [&] { return find_stream(stream, by_default); }, issue);
}

}  // namespace refrain::layer::hip
