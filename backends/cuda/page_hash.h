// A number for each page of memory, computed on the device: kernels of Refrain's own, loaded in verify mode only.
//
// The number is a sum over the page's words, each mixed with its place in the page, so that any number of threads can
// add to it in any order. Equal contents have equal numbers; different contents have different ones but once in 2^64.
#pragma once

#include <cstdint>

#include "backends/cuda/driver_api.h"

namespace refrain::backends {

/// Of one context, and gone with it; the context must be current.
class CudaPageHash {
 public:
  CUresult load(const CudaDriver& driver) noexcept;
  /// Adds to sums[p] for each page p of the `words` words of eight bytes from `start` on, which is a multiple of eight.
  CUresult words(const CudaDriver& driver, std::uint64_t start, std::uint64_t words, std::uint64_t sums,
                 CUstream stream) const noexcept;
  /// The same for the bytes from `first` to `end` from `start` on, which is the start of a page.
  CUresult bytes(const CudaDriver& driver, std::uint64_t start, std::uint64_t first, std::uint64_t end,
                 std::uint64_t sums, CUstream stream) const noexcept;

 private:
  CUfunction words_ = nullptr;
  CUfunction bytes_ = nullptr;
};

}  // namespace refrain::backends
