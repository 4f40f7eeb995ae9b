#include "backends/cuda/code_image.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

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

/// The end of the last thing that the headers name; 0 if they name anything outside `from`.
std::uint64_t elf_size(std::span<const std::byte> from) noexcept {
  env::ElfReader<env::MemorySource> file{env::MemorySource{from}};
  env::ElfReader<env::MemorySource>::Table segments;
  env::ElfReader<env::MemorySource>::Table sections;
  if (!file || !file.segments(&segments) || !file.sections(&sections)) {
    return 0;
  }
  std::uint64_t end = sizeof(Elf64_Ehdr);
  const auto reach = [&](std::uint64_t offset, std::uint64_t size) {
    if (offset > from.size() || size > from.size() - offset) {
      return false;
    }
    end = std::max(end, offset + size);
    return true;
  };
  if (sections.count > from.size() / sizeof(Elf64_Shdr) ||
      !reach(sections.offset, sections.count * sizeof(Elf64_Shdr)) ||
      !reach(segments.offset, segments.count * sizeof(Elf64_Phdr))) {
    return 0;
  }
  for (std::uint64_t i = 0; i < sections.count; ++i) {
    Elf64_Shdr section;
    if (!file.header_at(sections, i, &section) ||
        (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL && !reach(section.sh_offset, section.sh_size))) {
      return 0;
    }
  }
  for (std::uint64_t i = 0; i < segments.count; ++i) {
    Elf64_Phdr segment;
    if (!file.header_at(segments, i, &segment) || !reach(segment.p_offset, segment.p_filesz)) {
      return 0;
    }
  }
  return end;
}

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
