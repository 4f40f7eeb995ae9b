// Verify mode only: variables of modules and libraries, whose addresses the program need not ask for. Kernels write
// them all the same.
#pragma once

#include <string_view>

#include "backends/cuda/code_image.h"
#include "layer/cuda/cuda_headers.h"

namespace refrain::layer::cuda {

/// What was loaded, with the image it was loaded from.
void note_code(CUmodule module, const backends::CodeImage& image);
void note_code(CUlibrary library, const backends::CodeImage& image);
/// Before it is unloaded: the handle may come again.
void forget_code(const void* handle) noexcept;

/// A kernel that is launched for the first time. `owner`: the module or library; null: not known.
void note_kernel_in_use(const void* owner, std::string_view kernel) noexcept;
/// Adds the variables of all code in use to the inventory, as they are in the current context. Asks the driver for
/// those that it did not ask for yet. May throw std::bad_alloc.
void add_variables();

}  // namespace refrain::layer::cuda
