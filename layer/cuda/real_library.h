// The real libcuda.so.1 and the stubs in its place: layer/interpose with what CUDA's has.
#pragma once

#include "layer/interpose/real_library.h"

namespace refrain::layer::cuda {

extern interpose::RealLibrary real_library;

/// What calls get where there is no function to call.
extern const interpose::MissingFunctions missing_functions;

/// Whether entry `name` is a version of what cuGetProcAddress calls `wanted`: cuMemAlloc_v2 of cuMemAlloc,
/// cuStreamQuery_ptsz of cuStreamQuery, but not cuMemAllocHost.
[[nodiscard]] bool is_version_of(const char* name, const char* wanted) noexcept;

}  // namespace refrain::layer::cuda
