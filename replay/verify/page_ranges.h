// Ranges of memory as verify computes with them: by address, without overlaps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/addressed_memory.h"

namespace refrain::replay {

using Ranges = std::vector<backends::MemoryRange>;
using Numbers = std::vector<std::uint64_t>;  ///< of pages, see AddressedMemory::hash()

/// Pages of `ranges` whose numbers differ, neighbours together.
[[nodiscard]] Ranges changed(const Ranges& ranges, const Numbers& before, const Numbers& after);
[[nodiscard]] std::uint64_t bytes_of(std::span<const backends::MemoryRange> ranges);
/// What both have.
[[nodiscard]] Ranges common(std::span<const backends::MemoryRange> a, std::span<const backends::MemoryRange> b);
/// What `a` has, and `b` has not.
[[nodiscard]] Ranges without(std::span<const backends::MemoryRange> a, std::span<const backends::MemoryRange> b);
/// What any of both has.
[[nodiscard]] Ranges united(std::span<const backends::MemoryRange> a, std::span<const backends::MemoryRange> b);

}  // namespace refrain::replay
