#include "backends/cuda/cuda_backend.h"

namespace refrain::backends {

template class StreamBackend<CudaApi>;

namespace {

const char* why_too_old(const CudaDriver& driver) noexcept {
  const char* missing = nullptr;
  return can_replay(driver, &missing) ? nullptr : "the driver is older than CUDA 12.4";
}

}  // namespace

CudaBackend::CudaBackend(const CudaDriver& driver) : StreamBackend(driver, why_too_old(driver)) {}

}  // namespace refrain::backends
