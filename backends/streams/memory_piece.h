// What kernels that number pages are given: a table of what they read.
#pragma once

#include <cstdint>

#include "backends/addressed_memory.h"

namespace refrain::backends {

struct MemoryPiece {
  std::uint64_t from = 0;        ///< the device's address
  std::uint64_t to = 0;          ///< where it is copied to; 0: nowhere
  std::uint64_t bytes = 0;       ///< more than none
  std::uint64_t first_page = 0;  ///< how many pages all pieces before it have

  /// The last one may be shorter.
  [[nodiscard]] std::uint64_t pages() const noexcept {
    return (bytes + AddressedMemory::kPage - 1) / AddressedMemory::kPage;
  }
};

}  // namespace refrain::backends
