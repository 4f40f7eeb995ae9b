// Brings graphs to the device ahead of their first launch, without what that does to everything else that runs.
#pragma once

#include <span>

#include "backends/cuda/driver_api.h"
#include "backends/exclusive_call_yield.h"

namespace refrain::backends {

/// Of one context. From the upload of a graph until that very graph is launched, every kernel on the device takes a
/// little longer, in graphs and out of them, the program's own as well. Of several such graphs
/// it is the one uploaded first that counts; when it is destroyed without a launch, the slowness stays for good
/// (docs/decisions/0004-uploads-have-a-sentinel.md). Whether our graphs are ever launched is
/// not known when they are uploaded. So a graph that does nothing is uploaded in front of them, and launched behind.
///
/// What it has is the context's, and goes with it. Not thread-safe.
class GraphUploader {
 public:
  /// Before the graph is made that is to be uploaded; and what of it is to be done at an IdleMoment.
  void prepare(const CudaDriver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept;
  void instantiate(const CudaDriver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept;
  /// Begins to upload; the context must be current. To be followed by wait(), whatever the result.
  CUresult upload(const CudaDriver& driver, std::span<const CUgraphExec> executables,
                  ExclusiveCallYield& exclusive_call_yield) noexcept;
  /// True if wait() would not wait: what was uploaded is there, or never will be.
  [[nodiscard]] bool done(const CudaDriver& driver) const noexcept;
  /// Until it is there. Waits for nothing if there was no stream to be had.
  CUresult wait(const CudaDriver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept;
  /// Before the context is destroyed: stream and memory go with it, but not the graph.
  void context_gone(const CudaDriver& driver) noexcept;

 private:
  /// The graph that does nothing: copies of four bytes of ours. (One copy, fills or copies of host memory do not
  /// count as uploads.) False if there is none to be had: then graphs are uploaded without it.
  bool make_sentinel(const CudaDriver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept;

  CUresult make_stream(const CudaDriver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept;

  CUstream stream_ = nullptr;
  CUgraph sentinel_ = nullptr;
  CUgraphExec sentinel_executable_ = nullptr;  ///< of the next upload, or of the one that is not waited for yet
  bool tried_ = false;
};

}  // namespace refrain::backends
