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
  [[nodiscard]] ChunkSizes chunk_sizes() const noexcept override { return kCudaChunkSizes; }
};

}  // namespace refrain::backends
