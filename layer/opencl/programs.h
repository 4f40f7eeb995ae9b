// Programs: identity by content, whatever the handle.
#pragma once

#include <string_view>

#include "layer/opencl/objects.h"

namespace refrain::layer::opencl {

/// Content identity of a kernel of this program as it is built now. The same in every run.
[[nodiscard]] capture::FunctionId function_id(const ProgramState& program, std::string_view name) noexcept;

/// The devices of the context (see ContextState::bit_of()) that the program is built for. Asks the driver once a build.
[[nodiscard]] std::uint64_t built_for(ProgramState& program) noexcept;

/// A kernel of the program was made, or the application released its last reference to one.
void kernel_made(ObjectId program, capture::FunctionId function) noexcept;
void kernel_gone(ObjectId program) noexcept;

}  // namespace refrain::layer::opencl
