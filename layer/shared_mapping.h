// Memory of the host that other processes may have, too.
#pragma once

#include <cstddef>

namespace refrain::layer {

/// Whether any of the memory is mapped so that what is written there others see (MAP_SHARED), or nobody knows. Reads
/// /proc/self/maps. Thread-safe.
[[nodiscard]] bool is_shared_mapping(const void* start, std::size_t bytes) noexcept;

}  // namespace refrain::layer
