// The loader's tables of functions: what they pointed to is kept, and what is to be seen points to us.
//
// Functions that take part (SUBMIT, TYPED) are replaced by functions of ours, NEUTRAL ones stay, and every other is
// replaced by a stub (layer/interpose/host_stubs.h) that calls a hook while stubs are watching.
#pragma once

#include <cstdint>

#include "layer/level_zero/level_zero_headers.h"

namespace refrain::layer::level_zero {

enum class EntryClass : std::uint8_t { kSubmit, kTyped, kNeutral, kHost };

/// Takes over the table `name` ("zeCommandList"), which the loader filled for version `version` of the API. Safe to be
/// called again, also with another driver's functions: the newest count. Thread-safe.
void take_over(const char* name, ze_api_version_t version, void* table) noexcept;

/// The function that the loader had in a table; null if it has none of this name.
[[nodiscard]] void* next_function(const char* name) noexcept;

/// What takes the place of `function`, which a driver gave for this name: of a name that is in tables, too, what is
/// there; null if it is not, or is only stubbed there. Thread-safe.
[[nodiscard]] void* known_function(void* function, const char* name) noexcept;

/// A stub for a function that is in no table, named `name` in explanations (copied). The same one for the same
/// function. Null if there are no more. Thread-safe.
[[nodiscard]] void* stub_for(void* function, const char* name) noexcept;

}  // namespace refrain::layer::level_zero
