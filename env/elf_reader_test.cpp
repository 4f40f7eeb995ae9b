#include "env/elf_reader.h"

#include <catch2/catch.hpp>
#include <string>

namespace refrain::env {
namespace {

struct Text {
  std::string all;
  bool read(std::uint64_t offset, void* into, std::size_t bytes) const {
    if (offset > all.size() || bytes > all.size() - offset) {
      return false;
    }
    std::memcpy(into, all.data() + offset, bytes);
    return true;
  }
};
using Reader = ElfReader<Text>;

template <class T>
void put(std::string* text, std::size_t at, const T& value) {
  text->resize(std::max(text->size(), at + sizeof(value)));
  std::memcpy(text->data() + at, &value, sizeof(value));
}

Elf64_Ehdr header() {
  Elf64_Ehdr made{};
  std::memcpy(made.e_ident, ELFMAG, SELFMAG);
  made.e_ident[EI_CLASS] = ELFCLASS64;
  made.e_ident[EI_DATA] = ELFDATA2LSB;
  made.e_phentsize = sizeof(Elf64_Phdr);
  made.e_shentsize = sizeof(Elf64_Shdr);
  return made;
}

/// A file of a header and sections of these types, each linked to the one before.
std::string file_with(Elf64_Ehdr made, std::initializer_list<std::uint32_t> types) {
  std::string text;
  made.e_shoff = sizeof(made);
  made.e_shnum = static_cast<std::uint16_t>(types.size());
  put(&text, 0, made);
  std::uint32_t index = 0;
  for (const std::uint32_t type : types) {
    Elf64_Shdr section{};
    section.sh_type = type;
    section.sh_link = index == 0 ? 0 : index - 1;
    put(&text, sizeof(made) + index * sizeof(section), section);
    ++index;
  }
  return text;
}

TEST_CASE("sections are found, and those that they name") {
  Reader file(Text{file_with(header(), {SHT_NULL, SHT_STRTAB, SHT_DYNSYM})});
  REQUIRE(file);
  Elf64_Shdr found{};
  REQUIRE(file.find_section(SHT_DYNSYM, &found));
  REQUIRE(file.linked_section(found, &found));
  CHECK(found.sh_type == SHT_STRTAB);
  CHECK_FALSE(file.find_section(SHT_DYNAMIC, &found));
  found.sh_link = 3;
  CHECK_FALSE(file.linked_section(found, &found));
}

TEST_CASE("the first section has the number of sections where the header has no room for it") {
  std::string text = file_with(header(), {SHT_NULL, SHT_DYNSYM});
  Elf64_Ehdr first{};
  std::memcpy(&first, text.data(), sizeof(first));
  first.e_shnum = 0;
  put(&text, 0, first);
  Elf64_Shdr counting{};
  counting.sh_size = 70000;
  put(&text, sizeof(first), counting);
  Reader file(Text{text});
  Reader::Table table;
  REQUIRE(file.sections(&table));
  CHECK(table.count == 70000);
  Elf64_Shdr found{};
  CHECK(file.find_section(SHT_DYNSYM, &found));
  CHECK_FALSE(file.find_section(SHT_DYNAMIC, &found));  // the others are not in the file
}

TEST_CASE("what is damaged, or of another kind, is refused") {
  const std::string good = file_with(header(), {SHT_NULL, SHT_DYNSYM});
  CHECK(Reader(Text{good}));
  for (std::size_t size = 0; size < sizeof(Elf64_Ehdr); ++size) {
    CHECK_FALSE(Reader(Text{good.substr(0, size)}));
  }
  for (const auto& [place, value] :
       {std::pair(0, 'E'), std::pair(int{EI_CLASS}, '\1'), std::pair(int{EI_DATA}, '\2')}) {
    std::string other = good;
    other[static_cast<std::size_t>(place)] = value;
    CHECK_FALSE(Reader(Text{other}));
  }
  Reader::Table table;
  Elf64_Shdr section{};
  Elf64_Ehdr odd = header();
  odd.e_shentsize = 63;
  CHECK_FALSE(Reader(Text{file_with(odd, {SHT_NULL})}).sections(&table));
  odd = header();
  odd.e_phentsize = 1;
  odd.e_phnum = 2;
  CHECK_FALSE(Reader(Text{file_with(odd, {SHT_NULL})}).segments(&table));
  // Far behind the end, and around it.
  Reader file(Text{good});
  for (const std::uint64_t offset : {std::uint64_t{good.size()}, ~std::uint64_t{0}, ~std::uint64_t{0} - 63}) {
    CHECK_FALSE(file.header_at({offset, 1}, 0, &section));
    CHECK_FALSE(file.header_at({offset, 1}, 1, &section));
  }
  CHECK_FALSE(file.header_at({0, 1}, ~std::uint64_t{0} / 64 + 1, &section));
}

}  // namespace
}  // namespace refrain::env
