// How large an ELF file in memory is: functions that take code take an address and no size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace refrain::backends {

/// The end of the last thing that the headers of the file at the begin of `from` name; 0 if that is no ELF file, or if
/// they name anything outside `from`. Reads headers only.
[[nodiscard]] std::uint64_t elf_size(std::span<const std::byte> from) noexcept;

}  // namespace refrain::backends
