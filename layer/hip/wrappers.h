// The typed entry points: one function per line of entry_points.def that is neither NEUTRAL nor HOST.
// Declared from the vendor's header, so that a changed signature does not compile.
#pragma once

#include "backends/hip/hip_headers.h"
#include "layer/waiting.h"
#include "replay/lane/lane.h"

namespace refrain::layer::hip {

/// The entry points by name, for explanations and for the history.
namespace entry {
#define SUBMIT(f, version) inline constexpr replay::EntryPoint f{#f};
#define TRACKED(f, version) SUBMIT(f, version)
#define TYPED(f, version) SUBMIT(f, version)
#define SETTER(f, version) SUBMIT(f, version)
#define RESOLVE(f, version) SUBMIT(f, version)
#define NEUTRAL(f, version)
#define HOST(f, version)
#include "layer/hip/entry_points.def"
#undef SUBMIT
}  // namespace entry

namespace wrap {
#undef SETTER
#define SUBMIT(f, version) WrapperType<decltype(&::f), may_wait(#f)>::Type f;
#define SETTER(f, version)
#include "layer/hip/entry_points.def"
#undef SUBMIT
}  // namespace wrap

#undef TRACKED
#undef TYPED
#undef SETTER
#undef RESOLVE
#undef NEUTRAL
#undef HOST

/// The real library's functions, typed: `library.hipLaunchKernel(…)`. Calls through it are seen by nobody. Written
/// once, before any typed function can be called. No entry is null: a function that this library lacks is one that
/// reports hipErrorNotSupported, and all of them report hipErrorNoDevice if there is no library.
struct LibraryFunctions {
#define SUBMIT(f, version) decltype(&::f) f;
#define TRACKED(f, version) SUBMIT(f, version)
#define TYPED(f, version) SUBMIT(f, version)
#define SETTER(f, version) SUBMIT(f, version)
#define RESOLVE(f, version) SUBMIT(f, version)
#define NEUTRAL(f, version) void* f;
#define HOST(f, version) void* f;
#include "layer/hip/entry_points.def"
#undef SUBMIT
#undef TRACKED
#undef TYPED
#undef SETTER
#undef RESOLVE
#undef NEUTRAL
#undef HOST
};
extern LibraryFunctions library;

}  // namespace refrain::layer::hip
