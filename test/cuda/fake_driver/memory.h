// Allocations: which address belongs to what, and what was freed.
#pragma once

#include "test/cuda/fake_driver/objects.h"

namespace fake {

struct Allocation {
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  unsigned long long id = 0;  ///< never used again
  unsigned type = 0;          ///< CUmemorytype
  Context* context = nullptr;
  bool registered = false;  ///< the program's own memory
};

/// What the address lies in; null: pageable memory, or freed.
[[nodiscard]] const Allocation* find_allocation(CUdeviceptr address);
/// Whether all of it lies in one allocation.
[[nodiscard]] bool within(const Allocation& allocation, CUdeviceptr address, std::size_t bytes);
[[nodiscard]] bool was_freed(CUdeviceptr address);

/// A violation if an operation that runs now may not use the memory. Takes the lock.
bool usable(CUdeviceptr address, std::size_t bytes, const char* by);

CUresult allocate(Context* context, std::size_t bytes, unsigned type, CUdeviceptr* address);
void release(CUdeviceptr start);
/// Of a context that is destroyed.
void free_all(const Context* context);

}  // namespace fake
