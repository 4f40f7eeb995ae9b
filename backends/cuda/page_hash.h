// A number for each page of memory, computed on the device: a kernel of Refrain's own, loaded in verify mode only.
//
// The number is a sum over the page's words, each mixed with its place in the page, so that any number of threads can
// add to it in any order. Equal contents have equal numbers; different contents have different ones but once in 2^64.
#pragma once

#include <cstdint>

#include "backends/cuda/driver_api.h"
#include "backends/streams/memory_piece.h"

namespace refrain::backends {

/// Of one context, and gone with it; the context must be current.
class CudaPageHash {
 public:
  CUresult load(const CudaDriver& driver) noexcept;
  /// Numbers all pages of all pieces in one launch, since programs have thousands of small variables. `table`: the
  /// device's address of the pieces; `pages`: how many they have together; `numbers`: where the page's numbers are
  /// added to, or 0. Each piece that has a `to` is copied there.
  CUresult run(const CudaDriver& driver, std::uint64_t table, std::uint64_t pieces, std::uint64_t pages,
               std::uint64_t numbers, CUstream stream) const noexcept;

 private:
  CUfunction kernel_ = nullptr;
};

}  // namespace refrain::backends
