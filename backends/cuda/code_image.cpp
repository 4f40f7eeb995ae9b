#include "backends/cuda/code_image.h"

#include <cstdint>
#include <cstring>

#include "backends/elf_size.h"
#include "env/elf_source.h"

namespace refrain::backends {
namespace {

using capture::CodeKind;

/// Fat binaries: nvcc's fatbinary.h describes the header, fatbinary_section.h the structure that points to one.
struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_size;
  std::uint64_t size;  ///< of what follows the header
};
static_assert(sizeof(FatHeader) == 16);
constexpr std::uint32_t kFatMagic = 0xBA55ED50;

struct FatWrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* data;
};
constexpr std::uint32_t kWrapperMagic = 0x466243B1;

std::uint64_t fat_size(std::span<const std::byte> from) noexcept {
  FatHeader header;
  if (!env::MemorySource{from}.read(0, &header) || header.header_size < sizeof(header) ||
      header.header_size > from.size() || header.size > from.size() - header.header_size) {
    return 0;
  }
  return header.header_size + header.size;
}

/// PTX: text up to a zero, which belongs to it (the driver looks for it).
std::uint64_t text_size(std::span<const std::byte> from) noexcept {
  std::size_t size = 0;
  for (; size < from.size(); ++size) {
    const auto letter = static_cast<unsigned char>(from[size]);
    if (letter == 0) {
      return size == 0 ? 0 : size + 1;
    }
    if (letter < ' ' && letter != '\n' && letter != '\r' && letter != '\t' && letter != '\f' && letter != '\v') {
      return 0;
    }
  }
  return 0;
}

/// Byte by byte: an image may be shorter than a magic number, and is not always aligned.
std::uint32_t magic_of(std::span<const std::byte> bytes) noexcept {
  std::uint32_t magic = 0;
  for (std::size_t i = 0; i < sizeof(magic) && i < bytes.size() && bytes[i] != std::byte{0}; ++i) {
    magic |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  }
  return magic;
}

}  // namespace

CodeImage image_in(std::span<const std::byte> bytes) noexcept {
  std::uint32_t elf_magic = 0;
  std::memcpy(&elf_magic, ELFMAG, sizeof(elf_magic));
  const std::uint32_t magic = magic_of(bytes);
  if (magic == elf_magic) {
    return {bytes.first(elf_size(bytes)), CodeKind::kBinary};
  }
  if (magic == kFatMagic) {
    return {bytes.first(fat_size(bytes)), CodeKind::kBinary};
  }
  return {bytes.first(text_size(bytes)), CodeKind::kIntermediate};
}

CodeImage image_at(const void* start) noexcept {
  if (start == nullptr) {
    return {};
  }
  const std::span<const std::byte> all(static_cast<const std::byte*>(start), kLargestImage);
  if (magic_of(all) != kWrapperMagic) {
    return image_in(all);
  }
  FatWrapper wrapper;
  if (!env::MemorySource{all}.read(0, &wrapper) || wrapper.data == nullptr) {
    return {};
  }
  const std::span<const std::byte> inner(static_cast<const std::byte*>(wrapper.data), kLargestImage);
  return {inner.first(magic_of(inner) == kFatMagic ? fat_size(inner) : 0), CodeKind::kBinary};
}

}  // namespace refrain::backends
