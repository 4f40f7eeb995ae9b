// What work of a context may do with an allocation.
#pragma once

#include <cstdint>

namespace refrain::backends {

enum class Reach : std::uint8_t { kNone, kReads, kWrites };

}  // namespace refrain::backends
