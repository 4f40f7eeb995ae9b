// One assembly stub per function of libamdhip64.so; layer/exported_stubs.inc says how they work; they are part of what
// is preloaded (layer/starter). The library calls some of its own functions by their names, which lead here: such
// calls, known by where they come from, go straight to the real function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layer/starter/starter.h"
#include "replay/lane/lane.h"

namespace refrain::layer::hip {

enum class EntryClass : std::uint8_t { kSubmit, kTracked, kTyped, kResolve, kNeutral, kHost };

struct EntryDescription {
  replay::EntryPoint entry;
  EntryClass entry_class;
  void* wrapper;  ///< the typed function, or null
};

/// The entry points by number, in the order of entry_points.def.
std::span<const EntryDescription> entry_descriptions() noexcept;

/// Functions outside the list that can be watched in one process.
inline constexpr std::size_t kAnonymousStubBytes = 32;
inline constexpr std::uint32_t kAnonymousStubs = 1024;

/// Address of stub `index`: what the application may be given in place of the library's function.
void* stub_address(std::uint32_t index) noexcept;

/// What stub `index` jumps to from now on.
void set_target(std::uint32_t index, void* target) noexcept;
[[nodiscard]] void* target_of(std::uint32_t index) noexcept;
/// What calls from inside the real library get; before set_inner_code().
void set_inner_target(std::uint32_t index, void* target) noexcept;

/// The code of the real library and of this one: calls from there pass through.
void set_inner_code(std::span<const std::byte> real, std::span<const std::byte> own) noexcept;

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

}  // namespace refrain::layer::hip
