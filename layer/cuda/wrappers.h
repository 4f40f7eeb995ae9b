// The typed entry points: one function per line of entry_points.def that is neither NEUTRAL nor HOST.
// Declared from the vendor's header, so that a changed signature does not compile.
#pragma once

#include "layer/cuda/cuda_headers.h"
#include "layer/waiting.h"
#include "replay/lane/lane.h"

namespace refrain::layer::cuda {

/// The entry points by name, for explanations and for the history.
namespace entry {
#define ENTRY(f) inline constexpr replay::EntryPoint f{#f};
#define NEUTRAL(f)
#define HOST(f)
#include "layer/cuda/entry_points.def"
#undef ENTRY
}  // namespace entry

namespace wrap {
#define ENTRY(f) WrapperType<decltype(&::f), may_wait(#f)>::Type f;
#define SETTER(f)
#define NEUTRAL(f)
#define HOST(f)
#include "layer/cuda/entry_points.def"
#undef ENTRY
}  // namespace wrap

}  // namespace refrain::layer::cuda
