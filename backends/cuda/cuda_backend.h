// CUDA graphs as native command buffers; see backends/streams and kernel_call.h.
#pragma once

#include "backends/cuda/cuda_api.h"
#include "backends/streams/stream_backend.h"

namespace refrain::backends {

extern template class StreamBackend<CudaApi>;

class CudaBackend final : public StreamBackend<CudaApi> {
 public:
  /// `driver` must outlive the backend.
  explicit CudaBackend(const CudaDriver& driver);

  [[nodiscard]] std::string_view name() const noexcept override { return "cuda"; }
  /// Measured on an H200 (docs/policy.md): a chunk must be held before the device is done with the one in
  /// front of it, so that it grows by less than the device is slower than the host; and each launch costs the
  /// device about 1 us, or 3 us where a graph forks. While a graph is built, launches of other threads wait for about 1
  /// us a node.
  [[nodiscard]] ChunkSizes chunk_sizes() const noexcept override { return {8, 2, 128, 8, 256}; }
};

}  // namespace refrain::backends
