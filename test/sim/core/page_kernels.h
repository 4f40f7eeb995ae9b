// The kernels with which Refrain compares memory in verify mode, as host functions.
#pragma once

#include <span>

#include "test/sim/core/kernel.h"

namespace sim {

std::span<const Kernel> page_kernels() noexcept;

}  // namespace sim
