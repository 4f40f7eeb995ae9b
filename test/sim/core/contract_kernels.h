// The kernels of the contract programs, which every face has in every code image.
#pragma once

#include <span>

#include "test/sim/core/kernel.h"

namespace sim {

std::span<const Kernel> contract_kernels() noexcept;

}  // namespace sim
