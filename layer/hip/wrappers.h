// The typed entry points: one function per line of entry_points.def that is neither NEUTRAL nor HOST.
// Declared from the vendor's header, so that a changed signature does not compile.
#pragma once

#include "backends/hip/hip_headers.h"
#include "layer/waiting.h"
#include "replay/lane/lane.h"

namespace refrain::layer::hip {

/// The entry points by name, for explanations and for the history.
namespace entry {
#define ENTRY(f, version) inline constexpr replay::EntryPoint f{#f};
#define NEUTRAL(f, version)
#define HOST(f, version)
#include "layer/hip/entry_points.def"
#undef ENTRY
}  // namespace entry

namespace wrap {
#define ENTRY(f, version) WrapperType<decltype(&::f), may_wait(#f)>::Type f;
#define SETTER(f, version)
#define NEUTRAL(f, version)
#define HOST(f, version)
#include "layer/hip/entry_points.def"
#undef ENTRY
}  // namespace wrap

/// The real library's functions, typed: `library.hipLaunchKernel(…)`. Calls through it are seen by nobody. Written
/// once, before any typed function can be called. No entry is null: a function that this library lacks is one that
/// reports hipErrorNotSupported, and all of them report hipErrorNoDevice if there is no library.
struct LibraryFunctions {
#define ENTRY(f, version) decltype(&::f) f;
#define NEUTRAL(f, version) void* f;
#define HOST(f, version) void* f;
#include "layer/hip/entry_points.def"
#undef ENTRY
};
extern LibraryFunctions library;

}  // namespace refrain::layer::hip
