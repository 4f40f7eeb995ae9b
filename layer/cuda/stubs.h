// One assembly stub per function of the driver. The stubs of entry_points.def and extra_entry_points.def are what is
// preloaded (layer/starter); besides there are anonymous ones for functions nobody knew when this was built.
//
// NEUTRAL and typed stubs are a jump to their target. HOST stubs first look at one flag, and while it is set
// call a hook. Until the driver is loaded every target is code that loads it. The stubs know no signatures.
#pragma once

#include <cstdint>
#include <span>

#include "layer/starter/starter.h"
#include "replay/lane/lane.h"

namespace refrain::layer::cuda {

enum class EntryClass : std::uint8_t { kSubmit, kTracked, kTyped, kResolve, kNeutral, kHost };

struct EntryDescription {
  replay::EntryPoint entry;
  EntryClass entry_class;
  void* wrapper;  ///< the typed function, or null
};

/// The entry points by number: those of entry_points.def, then those of extra_entry_points.def.
std::span<const EntryDescription> entry_descriptions() noexcept;

/// Functions outside the lists that can be watched in one process.
inline constexpr std::size_t kAnonymousStubBytes = 32;
inline constexpr std::uint32_t kAnonymousStubs = 4096;

/// Address of stub `index`: what the application may be given in place of the driver's function.
void* stub_address(std::uint32_t index) noexcept;

/// What stub `index` jumps to from now on.
void set_target(std::uint32_t index, void* target) noexcept;
[[nodiscard]] void* target_of(std::uint32_t index) noexcept;

/// What is preloaded, and had this library opened. The stubs of known functions are part of it.
const Starter& own_starter() noexcept;

/// Takes an anonymous stub for `function`, named `name` in explanations (copied). Returns its address, or null
/// if there are no more. Call it once per function; thread-safe.
void* take_anonymous_stub(void* function, const char* name) noexcept;

/// Called by HOST stubs, with the function's name, while stubs are watching. May be called on any thread and
/// while another call of it runs.
using HostCallHook = void (*)(const replay::EntryPoint& entry_point) noexcept;
void set_host_call_hook(HostCallHook hook) noexcept;

/// Whether HOST stubs call the hook at all. Off until somebody sets it.
void set_stubs_watching(bool watching) noexcept;

}  // namespace refrain::layer::cuda
