// What calls get where there is no function to call.
#pragma once

namespace refrain::layer::hip {

/// For `name` if there is no library: reports hipErrorNoDevice, or what a function gives that reports no errors, and
/// writes zero to where callers look without checking the result. Null: for any function.
void* no_library_function(const char* name) noexcept;

/// For a function that this library lacks: reports hipErrorNotSupported.
void* missing_function(const char* name) noexcept;

/// For calls made by the library's own constructors: reports hipErrorNotInitialized.
void* not_ready_function() noexcept;

}  // namespace refrain::layer::hip
