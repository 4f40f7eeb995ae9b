// What calls get where there is no function to call.
#pragma once

namespace refrain::layer::cuda {

/// For `name` if there is no driver: reports CUDA_ERROR_NO_DEVICE, and writes null or zero to where callers
/// look without checking the result. Null: for any function.
void* no_driver_function(const char* name) noexcept;

/// For a function that this driver lacks: reports CUDA_ERROR_NOT_SUPPORTED.
void* missing_function() noexcept;

/// For calls made by the driver's own constructors: reports CUDA_ERROR_NOT_INITIALIZED.
void* not_ready_function() noexcept;

}  // namespace refrain::layer::cuda
