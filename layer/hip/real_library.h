// The real libamdhip64.so: opened by path on the first call of any function, never earlier.
#pragma once

#include <cstdint>
#include <string>

namespace refrain::layer::hip {

/// Loads the library, once, whichever thread comes first, and publishes the targets of all stubs. Returns where
/// the call that came through stub `index` goes on. Called by stubs only.
void* load_library_for(std::uint32_t index) noexcept;

/// The library's own function with this exact exported name; null if it has none or is not loaded.
[[nodiscard]] void* real_function(const char* name) noexcept;

/// All stubs lead straight to the library from now on.
void pass_everything() noexcept;

/// What the application gets instead of `function`, which the library handed out for `name`. Thread-safe.
[[nodiscard]] void* address_for_program(void* function, const char* name) noexcept;

}  // namespace refrain::layer::hip
