// The numbers that decide when graphs are tried, used and given up; each with its reason in replay/tuning.def.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::replay::tuning {

#define TUNING(type, name, value, unit, origin, test) inline constexpr type name = value;
#include "replay/tuning.def"
#undef TUNING

}  // namespace refrain::replay::tuning
