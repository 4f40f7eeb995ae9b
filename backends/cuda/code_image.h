// How large a code image is that a program gives to the driver: CUDA's functions take an address and no size.
#pragma once

#include <cstddef>
#include <span>

#include "capture/recorder.h"

namespace refrain::backends {

struct CodeImage {
  std::span<const std::byte> bytes;  ///< empty: not an image that is known here
  capture::CodeKind kind = capture::CodeKind::kBinary;
};

/// The image that `bytes`, which come from a file, begin with: a cubin (ELF), a fat binary, or PTX. What would be
/// larger, or contradicts itself, is no image; nor is the structure that nvcc puts in front of a fat binary, which
/// holds an address: no address from a file is ever followed.
[[nodiscard]] CodeImage image_in(std::span<const std::byte> bytes) noexcept;

/// The image at `start`, which this process gave to the driver and the driver has accepted: as image_in(), or the
/// structure that nvcc puts in front of a fat binary. Reads no further than the image's own headers say, and never
/// beyond kLargestImage.
[[nodiscard]] CodeImage image_at(const void* start) noexcept;

/// Larger ones are not looked at.
inline constexpr std::size_t kLargestImage = std::size_t{2} << 30U;

}  // namespace refrain::backends
