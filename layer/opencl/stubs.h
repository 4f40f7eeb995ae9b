// One assembly stub per entry point that nobody classified (layer/interpose/host_stubs.h): it flushes what is held,
// then jumps to the real function.
#pragma once

#include <cstdint>

#include "layer/interpose/host_stubs.h"

namespace refrain::layer::opencl {

/// Dispatch slots that get a stub each: more than any loader has today. The other stubs are for extension functions.
inline constexpr std::uint32_t kSlotStubs = 256;
static_assert(kSlotStubs < interpose::HostStubs::kCount);

/// Of stub `index`: see MAKES in entry_points.def.
void set_makes_objects(std::uint32_t index, bool makes_objects) noexcept;
/// Whether stubs take the slow path at all. Off until the engine runs and after it was shut down.
void set_stubs_watching(bool watching) noexcept;

}  // namespace refrain::layer::opencl
