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

/// The image at `start`: a cubin (ELF), a fat binary, the structure that nvcc puts in front of one, or PTX.
/// Reads no further than the image's own headers say, and never beyond `limit` bytes; what would be larger, or
/// contradicts itself, is no image. Give it only what the driver has accepted, or bytes of a known size.
[[nodiscard]] CodeImage image_at(const void* start, std::size_t limit) noexcept;

/// Larger ones are not looked at.
inline constexpr std::size_t kLargestImage = std::size_t{2} << 30U;

}  // namespace refrain::backends
