// What an address belongs to.
#pragma once

#include "backends/hip/driver_api.h"
#include "backends/streams/named_memory.h"

namespace refrain::backends {

/// False if it is no memory of the runtime's: pageable, or freed. Leaves the thread's last error alone. Thread-safe.
bool find_allocation(const HipDriver& driver, std::uint64_t address, Allocation* found) noexcept;

/// True if the runtime moves the memory there to where it is used.
[[nodiscard]] bool is_managed(const HipDriver& driver, std::uint64_t address) noexcept;

}  // namespace refrain::backends
