// What an address belongs to.
#pragma once

#include "backends/cuda/driver_api.h"
#include "backends/reach.h"
#include "backends/streams/named_memory.h"

namespace refrain::backends {

/// False if it is no memory of the driver's: pageable, or freed. Source: cuPointerGetAttributes, whose buffer ids are
/// unique in the process. Thread-safe.
bool find_allocation(const CudaDriver& driver, std::uint64_t address, Allocation* found) noexcept;

/// True if the driver moves the memory there to where it is used.
[[nodiscard]] bool is_managed(const CudaDriver& driver, std::uint64_t address) noexcept;

/// What work of the current context may do with the memory there.
[[nodiscard]] Reach reach(const CudaDriver& driver, std::uint64_t address) noexcept;

}  // namespace refrain::backends
