// Tables of a library that lie: nothing outside of it is read or called, and every search ends.
#include "layer/elf_symbols.h"

#include <elf.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

namespace refrain::layer {
namespace {

/// As a library would lie in memory: two symbols, and a hash table with one bucket for both.
struct Library {
  Elf64_Dyn dynamic[6] = {};
  Elf64_Sym symbols[3] = {};
  std::uint32_t hash[2 + 1 + 3] = {1, 3, 1, 0, 2, 0};  // bucket → 1 → 2 → none
  char strings[8] = "\0one\0tw";
  std::uint16_t versions[3] = {0, 2, 3};

  Library() {
    dynamic[0] = entry(DT_SYMTAB, symbols);
    dynamic[1] = entry(DT_STRTAB, strings);
    dynamic[2] = entry(DT_HASH, hash);
    dynamic[3].d_tag = DT_STRSZ;
    dynamic[3].d_un.d_val = sizeof(strings);
    dynamic[4] = entry(DT_VERSYM, versions);
    for (std::uint32_t index : {1U, 2U}) {
      symbols[index].st_name = index == 1 ? 1 : 5;
      symbols[index].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      symbols[index].st_shndx = 1;
      symbols[index].st_value = Elf64_Addr{16} * index;
    }
  }
  static Elf64_Dyn entry(Elf64_Sxword tag, const void* place) {
    Elf64_Dyn made{};
    made.d_tag = tag;
    made.d_un.d_ptr = reinterpret_cast<std::uintptr_t>(place);
    return made;
  }
  [[nodiscard]] std::uintptr_t base() const { return reinterpret_cast<std::uintptr_t>(this); }
  [[nodiscard]] DynamicSymbols read() const {
    return {base(), base(), {{base(), base() + sizeof(*this)}, {base(), base()}}};
  }
  [[nodiscard]] void* address(std::size_t offset) const { return reinterpret_cast<void*>(base() + offset); }
};

TEST_CASE("symbols of a library in memory") {
  const Library library;
  const DynamicSymbols symbols = library.read();
  CHECK(symbols.count() == 3);
  CHECK(symbols.find("one") == library.address(16));
  CHECK(symbols.find("tw") == library.address(32));
  CHECK(symbols.find("three") == nullptr);
  CHECK(symbols.function(2) == library.address(32));
}

TEST_CASE("of a function's versions the default one is found, and no other") {
  Library library;
  library.symbols[2].st_name = 1;
  library.versions[1] = 0x8002;  // hidden: for programs that were linked with an older library
  CHECK(library.read().find("one") == library.address(32));
  library.versions[2] = 0x8003;
  CHECK(library.read().find("one") == nullptr);
}

TEST_CASE("a chain that goes in a circle ends") {
  ::alarm(20);
  Library library;
  library.hash[3 + 2] = 1;
  CHECK(library.read().find("three") == nullptr);
  ::alarm(0);
}

TEST_CASE("what a table says of itself is believed only as far as the library goes") {
  Library library;
  SECTION("more symbols than there is room for") {
    library.hash[1] = 1'000'000'000;
    CHECK(library.read().find("one") == nullptr);
  }
  SECTION("a chain to a symbol behind the end") {
    library.hash[1] = 3;
    library.hash[2] = 0x7fffffff;
    CHECK(library.read().find("one") == nullptr);
  }
  SECTION("names longer than the table of names") {
    library.dynamic[3].d_un.d_val = 1 << 20U;
    CHECK(library.read().find("one") == nullptr);
  }
  SECTION("a name that does not end in the table") {
    library.strings[7] = 'o';
    CHECK(library.read().find("two") == nullptr);
    CHECK(library.read().find("one") == library.address(16));
  }
  SECTION("tables outside of it") {
    std::vector<std::uint32_t> outside(library.hash, library.hash + 6);
    library.dynamic[2] = Library::entry(DT_HASH, outside.data());
    CHECK(library.read().find("one") == nullptr);
  }
  SECTION("a dynamic section without an end") {
    for (Elf64_Dyn& entry : library.dynamic) {
      entry.d_tag = DT_DEBUG;
    }
    CHECK(library.read().count() == 0);
  }
}

TEST_CASE("a function that chooses another is called only where the library has code") {
  Library library;
  library.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
  CHECK(library.read().find("one") == nullptr);
}

}  // namespace
}  // namespace refrain::layer
