// Verify mode only: variables of modules, whose addresses the program need not ask for. Kernels write them all the
// same.
#pragma once

#include "layer/level_zero/level_zero_headers.h"

namespace refrain::layer::level_zero {

/// A module that was made. If there is no memory to read its code, it stays unknown.
void note_module(ze_module_handle_t module, ze_context_handle_t context, ze_device_handle_t device,
                 const ze_module_desc_t& description) noexcept;
/// A kernel of it was made. The first time, the driver is asked where the module's variables are.
void note_module_in_use(ze_module_handle_t module) noexcept;
/// Before it is destroyed: its variables go with it, and the handle may come again. Waits while memory is compared.
void forget_module(ze_module_handle_t module) noexcept;

}  // namespace refrain::layer::level_zero
