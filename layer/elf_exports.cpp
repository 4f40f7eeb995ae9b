#include "layer/elf_exports.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>

namespace refrain::layer {
namespace {

// No std::bit_cast: the analyser of clang-tidy 14 crashes where an element of what it gives is read.
template <class T>
T* pointer(Elf64_Addr address) noexcept {
  return reinterpret_cast<T*>(address);
}

// How many symbols a GNU hash table covers: the last chain's end.
std::size_t count_by_gnu_hash(const std::uint32_t* table) {
  const std::uint32_t buckets = table[0];
  const std::uint32_t first = table[1];
  const std::uint32_t bloom_words = table[2];
  const auto* bucket =
      reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const std::uint64_t*>(table + 4) + bloom_words);
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t last = 0;
  for (std::uint32_t index = 0; index < buckets; ++index) {
    last = std::max(last, bucket[index]);
  }
  if (last < first) {
    return first;
  }
  while ((chain[last - first] & 1U) == 0) {
    ++last;
  }
  return last + 1;
}

}  // namespace

std::vector<ExportedFunction> exported_functions(void* library) {
  std::vector<ExportedFunction> found;
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_ld == nullptr) {
    return found;
  }
  const Elf64_Sym* symbols = nullptr;
  const char* strings = nullptr;
  std::size_t string_bytes = 0;
  std::size_t count = 0;
  // glibc has made addresses of what are offsets in the file.
  for (const Elf64_Dyn* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB: symbols = pointer<const Elf64_Sym>(entry->d_un.d_ptr); break;
      case DT_STRTAB: strings = pointer<const char>(entry->d_un.d_ptr); break;
      case DT_STRSZ: string_bytes = entry->d_un.d_val; break;
      case DT_HASH: count = pointer<const std::uint32_t>(entry->d_un.d_ptr)[1]; break;
      case DT_GNU_HASH:
        if (count == 0) {
          count = count_by_gnu_hash(pointer<const std::uint32_t>(entry->d_un.d_ptr));
        }
        break;
      default: break;
    }
  }
  if (symbols == nullptr || strings == nullptr) {
    return found;
  }
  for (std::size_t index = 1; index < count; ++index) {
    const Elf64_Sym& symbol = symbols[index];
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
        (binding == STB_GLOBAL || binding == STB_WEAK) && symbol.st_name < string_bytes) {
      found.push_back({strings + symbol.st_name, pointer<void>(map->l_addr + symbol.st_value)});
    }
  }
  return found;
}

Segments::Segments(const void* address, Kind kind) {
  struct Search {
    const char* address;
    Kind kind;
    std::vector<Range> found;
  } search{static_cast<const char*>(address), kind, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        std::vector<Range> ranges;
        bool inside = false;
        for (int index = 0; index < info->dlpi_phnum; ++index) {
          const Elf64_Phdr& header = info->dlpi_phdr[index];
          if (header.p_type != PT_LOAD) {
            continue;
          }
          const char* begin = pointer<const char>(info->dlpi_addr + header.p_vaddr);
          const Range range{begin, begin + header.p_memsz};
          inside = inside || (wanted.address >= range.begin && wanted.address < range.end);
          if (wanted.kind == Kind::kAll || (header.p_flags & PF_X) != 0) {
            ranges.push_back(range);
          }
        }
        if (inside) {
          wanted.found = std::move(ranges);
        }
        return inside ? 1 : 0;
      },
      &search);
  ranges_ = std::move(search.found);
}

bool Segments::contains(const void* address, std::size_t bytes) const noexcept {
  const auto* place = static_cast<const char*>(address);
  return std::any_of(ranges_.begin(), ranges_.end(), [place, bytes](const Range& range) {
    return place >= range.begin && place < range.end && bytes <= static_cast<std::size_t>(range.end - place);
  });
}

std::span<const std::byte> Segments::extent() const noexcept {
  if (ranges_.empty()) {
    return {};
  }
  const char* begin = ranges_.front().begin;
  const char* end = ranges_.front().end;
  for (const Range& range : ranges_) {
    begin = std::min(begin, range.begin);
    end = std::max(end, range.end);
  }
  return {reinterpret_cast<const std::byte*>(begin), static_cast<std::size_t>(end - begin)};
}

}  // namespace refrain::layer
