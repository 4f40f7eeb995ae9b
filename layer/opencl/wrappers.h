// The typed entry points: one function per slot of entry_points.def that is not NEUTRAL, HOST or MAKES.
// Declared from the vendor's table, so that a changed signature does not compile.
#pragma once

#include "layer/opencl/opencl_headers.h"
#include "layer/waiting.h"
#include "replay/lane/lane.h"

namespace refrain::layer::opencl {

/// The entry points by name, for explanations and for the history.
namespace entry {
#define SUBMIT(f) inline constexpr replay::EntryPoint f{#f};
#define TRACKED(f) SUBMIT(f)
#define RESOLVE(f) SUBMIT(f)
#define TYPED(f) SUBMIT(f)
#define NEUTRAL(f)
#define HOST(f)
#define MAKES(f)
#include "layer/opencl/entry_points.def"
#undef SUBMIT
}  // namespace entry

namespace wrap {
#define SUBMIT(f) WrapperType<decltype(cl_icd_dispatch::f), may_wait(#f)>::Type f;
#include "layer/opencl/entry_points.def"
#undef SUBMIT
}  // namespace wrap

#undef TRACKED
#undef RESOLVE
#undef TYPED
#undef NEUTRAL
#undef HOST
#undef MAKES

}  // namespace refrain::layer::opencl
