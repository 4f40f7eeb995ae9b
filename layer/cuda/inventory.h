// The inventory of the program's memory: what the driver allocated, and what it frees.
#pragma once

#include <cstdint>

#include "backends/memory_inventory.h"
#include "layer/cuda/cuda_headers.h"

namespace refrain::layer::cuda {

/// What the driver says of memory around an address; false if it is no memory of its own that a device can use. Asks
/// the driver. Of memory that is mapped, and that no device may use yet, it tells more than is mapped.
[[nodiscard]] bool describe_memory(std::uint64_t address, backends::LiveMemory* found) noexcept;

/// Behind a call that may have made memory there (0: nowhere), if anybody wants the inventory. False: it has none
/// there.
bool note_memory(CUresult status, std::uint64_t address) noexcept;
/// Behind a call with which kernels may write what cannot be put back: verify compares nothing from then on. `why` has
/// static lifetime.
void note_incomparable(CUresult status, const char* why) noexcept;
/// Before a call that frees the allocation that starts there. Waits while memory is compared.
void forget_memory(std::uint64_t start) noexcept;
/// Around a call that frees nobody knows what: whatever the driver does not know behind it is forgotten. Waits while
/// memory is compared; then none is until the end.
class Freeing {
 public:
  Freeing() noexcept;
  ~Freeing();
  Freeing(const Freeing&) = delete;
  Freeing& operator=(const Freeing&) = delete;
};

}  // namespace refrain::layer::cuda
