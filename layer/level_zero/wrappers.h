// The typed entry points: one function per line of entry_points.def that is SUBMIT or TYPED. Declared from the vendor's
// header, so that a changed signature does not compile.
#pragma once

#include "layer/level_zero/level_zero_headers.h"
#include "layer/waiting.h"
#include "replay/lane/lane.h"

#define TABLE(prefix, name)
#define NEUTRAL(f, major, minor)
#define HOST(f, major, minor)

namespace refrain::layer::level_zero {

/// The entry points by name, for explanations and for the history.
namespace entry {
#define SUBMIT(f, major, minor) inline constexpr replay::EntryPoint f{#f};
#define TYPED(f, major, minor) SUBMIT(f, major, minor)
#include "layer/level_zero/entry_points.def"
#undef SUBMIT
#undef TYPED
}  // namespace entry

namespace wrap {
#define SUBMIT(f, major, minor) WrapperType<decltype(&::f), may_wait(#f)>::Type f;
#define TYPED(f, major, minor) SUBMIT(f, major, minor)
#include "layer/level_zero/entry_points.def"
#undef SUBMIT
#undef TYPED
}  // namespace wrap

/// What the wrapped functions are in the loader's tables.
struct Next {
#define SUBMIT(f, major, minor) decltype(&::f) f = nullptr;
#define TYPED(f, major, minor) SUBMIT(f, major, minor)
#include "layer/level_zero/entry_points.def"
#undef SUBMIT
#undef TYPED
};
extern Next next;

}  // namespace refrain::layer::level_zero

#undef TABLE
#undef NEUTRAL
#undef HOST
