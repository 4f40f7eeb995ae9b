// One assembly stub per entry point that nobody classified: it flushes what is held, then jumps to the
// real function with all its arguments untouched. The stubs know no signatures.
#pragma once

#include <cstdint>

namespace refrain::layer {

/// Dispatch slots that get a stub each: more than any loader has today.
inline constexpr std::uint32_t kSlotStubs = 256;
/// Extension functions that can be wrapped in one process.
inline constexpr std::uint32_t kExtensionStubs = 1024;
inline constexpr std::uint32_t kStubs = kSlotStubs + kExtensionStubs;

/// Address of stub `index`. Valid to be called once its target is set.
void* stub_address(std::uint32_t index) noexcept;
/// What stub `index` jumps to and how it is called in explanations (static lifetime).
/// `makes_objects`: see MAKES in entry_points.def.
void set_stub(std::uint32_t index, void* target, const char* name, bool makes_objects) noexcept;
/// Whether stubs take the slow path at all. Off until the engine runs and after it was shut down.
void set_stubs_watching(bool watching) noexcept;

}  // namespace refrain::layer
