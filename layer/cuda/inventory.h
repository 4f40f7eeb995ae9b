// The inventory of the program's memory: what the driver allocated, and what it frees.
#pragma once

#include <cstdint>

#include "layer/cuda/runtime.h"
#include "layer/streams/inventory.h"

namespace refrain::layer::cuda {

inline bool note_memory(CUresult status, std::uint64_t address) noexcept {
  return streams::note_memory<CudaLayer>(status, address);
}
inline void note_incomparable(CUresult status, const char* why) noexcept {
  streams::note_incomparable<CudaLayer>(status, why);
}

}  // namespace refrain::layer::cuda
