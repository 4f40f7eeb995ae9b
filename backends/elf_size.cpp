#include "backends/elf_size.h"

#include <algorithm>

#include "env/elf_source.h"

namespace refrain::backends {

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

}  // namespace refrain::backends
