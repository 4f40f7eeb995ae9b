// Allocations: which address belongs to what, and what was freed. Everything under the lock of the device, but
// usable().
#pragma once

#include "test/sim/core/schedule.h"

namespace sim {

enum class MemoryType { kDevice, kHost, kShared };

struct Allocation {
  Address start = 0;
  std::size_t bytes = 0;
  unsigned long long id = 0;  ///< never used again
  MemoryType type = MemoryType::kDevice;
  const void* owner = nullptr;  ///< the face's context
  bool registered = false;      ///< the program's own memory, or reserved by it
  bool accessible = true;
  bool in_order = false;           ///< allocated in the order of a queue
  const void* pool = nullptr;      ///< of that
  const void* freed_in = nullptr;  ///< the queue in whose order it is freed, which was not done yet
  OperationRef freed_by = nullptr;
};

/// What the address lies in; null: memory that no face allocated, or freed.
[[nodiscard]] const Allocation* find_allocation(Address address);
/// Whether all of it lies in the allocation, or in what is mapped side by side, and may be used.
[[nodiscard]] bool within(const Allocation& allocation, Address address, std::size_t bytes);
/// Freed, and not allocated again.
[[nodiscard]] bool was_freed(Address address);

/// False, and a violation, if operation `number`, called `by`, which starts now, may not use the memory.
bool usable(Address address, std::size_t bytes, const char* by, std::uint64_t number);

/// `alignment`: a power of two, at most 65536. 0 if there is none left. What lies in it is rubbish, on purpose.
[[nodiscard]] Address allocate(const void* owner, std::size_t bytes, MemoryType type, std::size_t alignment = 256);
/// What is freed in the order of a queue, and not gone yet, is another allocation from now on. `start`: of that.
void allocate_again(const void* owner, Address start, std::size_t bytes);
/// Each of those that are.
[[nodiscard]] std::vector<Allocation*> allocations_in_order();
/// What addresses come back for: of the same rounded size.
[[nodiscard]] std::size_t rounded(std::size_t bytes) noexcept;
/// Memory of the program that the device may use from now on; false if some of it already is.
bool register_memory(const void* owner, Address start, std::size_t bytes, MemoryType type = MemoryType::kHost);
/// Whether kernels may use what was registered and begins in these bytes.
void set_accessible(Address start, std::size_t bytes, bool accessible);
/// `start` must be that of an allocation. Waits for nothing: that is the face's duty.
void release(Address start);
/// Everything of a context that is destroyed.
void release_all(const void* owner);

}  // namespace sim
