#include "env/cli/elf_file.h"

namespace refrain::env {

ElfFile::ElfFile(const std::string& path) : file_(FileSource(path)) {
  // Up to the machine the headers of all kinds are alike, but for the order of bytes.
  unsigned char start[offsetof(Elf64_Ehdr, e_machine) + sizeof(Elf64_Half)];
  Elf32_Ehdr shortest;
  if (!file_.source().read(0, start, sizeof(start)) || !file_.source().read(0, &shortest, sizeof(shortest)) ||
      std::memcmp(start, ELFMAG, SELFMAG) != 0) {
    return;
  }
  const unsigned order = start[EI_DATA];
  const unsigned bits = start[EI_CLASS];
  const unsigned first = start[sizeof(start) - 2];
  const unsigned second = start[sizeof(start) - 1];
  has_64_bits_ = bits == ELFCLASS64;
  machine_ = order == ELFDATA2LSB ? first | second << 8U : first << 8U | second;
  good_ = has_64_bits_ && order == ELFDATA2LSB
              ? static_cast<bool>(file_)
              : (bits == ELFCLASS32 || has_64_bits_) && (order == ELFDATA2LSB || order == ELFDATA2MSB);
}

std::optional<bool> ElfFile::has_interpreter() {
  ElfFileReader::Table segments;
  if (!file_ || !file_.segments(&segments)) {
    return std::nullopt;
  }
  for (std::uint64_t index = 0; index < segments.count; ++index) {
    Elf64_Phdr segment;
    if (!file_.header_at(segments, index, &segment)) {
      return std::nullopt;
    }
    if (segment.p_type == PT_INTERP) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> ElfFile::exported_names() {
  std::vector<std::string> found;
  visit_exports(file_, [&found](std::string_view name) {
    if (!name.empty()) {
      found.emplace_back(name);
    }
    return false;
  });
  return found;
}

}  // namespace refrain::env
