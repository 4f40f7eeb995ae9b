// The real libamdhip64.so and the stubs in its place: layer/interpose with what HIP's has.
#pragma once

#include "layer/interpose/real_library.h"

namespace refrain::layer::hip {

extern interpose::RealLibrary real_library;

/// What calls get where there is no function to call.
extern const interpose::MissingFunctions missing_functions;

}  // namespace refrain::layer::hip
