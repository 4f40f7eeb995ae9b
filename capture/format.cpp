#include "capture/format.h"

#include <xxhash.h>

#include <cstddef>

namespace refrain::capture::format {

std::uint64_t checksum_of(const RecordHeader& header, std::span<const std::byte> stored) noexcept {
  // The header's own hash seeds the payload's, so that neither can be exchanged alone.
  const std::uint64_t seed = XXH3_64bits(&header, offsetof(RecordHeader, checksum));
  return XXH3_64bits_withSeed(stored.data(), stored.size(), seed);
}

std::uint64_t checksum_of(const FileHeader& header) noexcept {
  return XXH3_64bits(&header, offsetof(FileHeader, checksum));
}

}  // namespace refrain::capture::format
