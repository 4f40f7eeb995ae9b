// Programs: identity by content, whatever the handle.
#pragma once

#include <string_view>

#include "layer/opencl/objects.h"

namespace refrain::layer::opencl {

/// How the program is built now, and for which devices of its context (see ContextState::bit_of()). Asks the driver
/// once a build, with no lock held. Thread-safe. May throw std::bad_alloc.
[[nodiscard]] ProgramBuild build_of(ProgramState& program);

/// Content identity of a kernel of this program, built that way. The same in every run.
[[nodiscard]] capture::FunctionId function_id(const ProgramState& program, const ProgramBuild& build,
                                              std::string_view name) noexcept;

/// A kernel of the program was made, or the application released its last reference to one. `holder`: the kernel's.
void kernel_made(ObjectId program, capture::FunctionId function) noexcept;
void kernel_gone(ObjectId program, std::uint64_t holder) noexcept;

}  // namespace refrain::layer::opencl
