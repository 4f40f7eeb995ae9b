// Verify mode only: physical memory that is mapped to addresses which the program reserved.
#pragma once

#include "layer/level_zero/level_zero_headers.h"

namespace refrain::layer::level_zero {

void note_physical(ze_physical_mem_handle_t physical, ze_device_handle_t device) noexcept;
/// Before it is destroyed: the handle may come again.
void forget_physical(ze_physical_mem_handle_t physical) noexcept;

/// Behind the driver's calls, which worked, all under Uncompared. Kernels write only where they may write as well as
/// read.
void note_mapped(ze_context_handle_t context, const void* start, std::size_t bytes, ze_physical_mem_handle_t physical,
                 ze_memory_access_attribute_t access) noexcept;
void note_access(const void* start, std::size_t bytes, ze_memory_access_attribute_t access) noexcept;
void note_unmapped(const void* start, std::size_t bytes) noexcept;

}  // namespace refrain::layer::level_zero
