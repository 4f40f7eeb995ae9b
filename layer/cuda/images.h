// Captures and verify mode only: which code image each module and library was loaded from, and so each kernel.
#pragma once

#include <string>

#include "backends/cuda/cuda_headers.h"
#include "capture/recorder.h"

namespace refrain::layer::cuda {

/// Tells the recorder of a kernel that is launched for the first time, and of its image. Returns the id that it has in
/// the capture; see streams::CapturedCode::tell().
[[nodiscard]] capture::FunctionId record_function(CUfunction handle, const std::string& name,
                                                  capture::FunctionId otherwise);

/// The module or library that was loaded and that the kernel is of; null: not known.
[[nodiscard]] const void* owner_of(CUfunction handle) noexcept;

/// A module or library is about to be unloaded: its handle may come again.
void forget_image(const void* handle) noexcept;

}  // namespace refrain::layer::cuda
