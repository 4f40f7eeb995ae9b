// The headers of an ELF file for 64-bit processors, also for what is loaded into programs: reads nothing but what its
// source gives, allocates nothing, believes nothing. Why not libelf:
// docs/decisions/0019-libelf-stays-out-of-programs.md and 0021-releases-for-older-systems.md.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace refrain::env {

/// `Source::read(offset, into, bytes)` copies bytes of the file; false if they are not all there.
template <class Source>
class ElfReader {
 public:
  /// So many headers one behind the other.
  struct Table {
    std::uint64_t offset = 0;
    std::uint64_t count = 0;
  };

  explicit ElfReader(Source source) : source_(std::move(source)) {
    good_ = read(0, &header_) && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
            header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB;
  }
  /// False: it is no such file, and nothing below may be asked for.
  explicit operator bool() const noexcept { return good_; }
  [[nodiscard]] const Elf64_Ehdr& header() const noexcept { return header_; }
  [[nodiscard]] Source& source() noexcept { return source_; }

  /// False if the file contradicts itself. The headers themselves may lie outside of it.
  bool segments(Table* table) const noexcept {
    *table = {header_.e_phoff, header_.e_phnum};
    return table->count == 0 || header_.e_phentsize == sizeof(Elf64_Phdr);
  }
  bool sections(Table* table) {
    *table = {header_.e_shoff, header_.e_shnum};
    if (header_.e_shoff == 0) {
      table->count = 0;
      return true;
    }
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) {
      return false;
    }
    if (table->count == 0) {  // more than 65279: the first section has the number
      Elf64_Shdr first;
      if (!header_at(*table, 0, &first)) {
        return false;
      }
      table->count = first.sh_size;
    }
    return true;
  }

  /// Header `index` of a table, whatever its count is; false if it is not in the file.
  template <class Header>
  bool header_at(const Table& table, std::uint64_t index, Header* found) {
    std::uint64_t place = 0;
    return !__builtin_mul_overflow(index, sizeof(Header), &place) &&
           !__builtin_add_overflow(place, table.offset, &place) && read(place, found);
  }
  /// The first section of this type, of those that are in the file. No library has more than kMostSections.
  bool find_section(std::uint32_t type, Elf64_Shdr* found) {
    Table table;
    if (!sections(&table)) {
      return false;
    }
    for (std::uint64_t index = 0; index < std::min(table.count, kMostSections) && header_at(table, index, found);
         ++index) {
      if (found->sh_type == type) {
        return true;
      }
    }
    return false;
  }
  /// The section that another one names: its strings.
  bool linked_section(const Elf64_Shdr& section, Elf64_Shdr* found) {
    Table table;
    return sections(&table) && section.sh_link < table.count && header_at(table, section.sh_link, found);
  }

 private:
  static constexpr std::uint64_t kMostSections = 1U << 16U;

  template <class T>
  bool read(std::uint64_t offset, T* value) {
    return source_.read(offset, value, sizeof(T));
  }

  Source source_;
  Elf64_Ehdr header_{};
  bool good_ = false;
};

}  // namespace refrain::env
