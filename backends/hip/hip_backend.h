// HIP graphs as native command buffers; see backends/streams.
#pragma once

#include "backends/hip/hip_api.h"
#include "backends/streams/stream_backend.h"

namespace refrain::backends {

extern template class StreamBackend<HipApi>;

class HipBackend final : public StreamBackend<HipApi> {
 public:
  /// `driver`, which must have everything, must outlive the backend.
  explicit HipBackend(const HipDriver& driver) : StreamBackend(driver, nullptr) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "hip"; }
  /// As for CUDA: an assumption.
  [[nodiscard]] ChunkSizes chunk_sizes() const noexcept override { return kHipChunkSizes; }
};

}  // namespace refrain::backends
