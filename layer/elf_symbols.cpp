#include "layer/elf_symbols.h"

#include <elf.h>

#include <algorithm>

// Not every C library has it.
#pragma weak dl_iterate_phdr

namespace refrain::layer {
namespace {

constexpr std::uint16_t kHidden = 0x8000;

// No std::bit_cast: the analyser of clang-tidy 14 crashes where an element of what it gives is read.
template <class T>
const T* pointer(std::uintptr_t address) noexcept {
  return reinterpret_cast<const T*>(address);
}

// Not strcmp(): whoever preloads this need not have a C library yet.
bool same(const char* left, const char* right) noexcept {
  while (*left != '\0' && *left == *right) {
    ++left;
    ++right;
  }
  return *left == *right;
}

std::uintptr_t address_of(const void* place) noexcept {
  return reinterpret_cast<std::uintptr_t>(place);
}

/// The segments of this kind together.
Extent extent_of(const dl_phdr_info& object, unsigned flags) noexcept {
  Extent found{~std::uintptr_t{0}, 0};
  for (int index = 0; index < object.dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[index];
    if (segment.p_type == PT_LOAD && (segment.p_flags & flags) == flags) {
      const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
      found.begin = std::min(found.begin, begin);
      found.end = std::max(found.end, begin + segment.p_memsz);
    }
  }
  return found.begin < found.end ? found : Extent{0, 0};
}

/// Where its dynamic section is; 0: it has none.
std::uintptr_t dynamic_of(const dl_phdr_info& object) noexcept {
  for (int index = 0; index < object.dlpi_phnum; ++index) {
    if (object.dlpi_phdr[index].p_type == PT_DYNAMIC) {
      return object.dlpi_addr + object.dlpi_phdr[index].p_vaddr;
    }
  }
  return 0;
}

/// Of the object with this dynamic section. Everything, if it is none that dl_iterate_phdr() knows.
Mapped mapped_around(const ElfW(Dyn) * dynamic) noexcept {
  struct Search {
    std::uintptr_t dynamic;
    Mapped found;
  } search{address_of(dynamic), {}};
  if (&dl_iterate_phdr != nullptr) {
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
          auto& wanted = *static_cast<Search*>(data);
          if (dynamic_of(*object) != wanted.dynamic) {
            return 0;
          }
          wanted.found = mapped(*object);
          return 1;
        },
        &search);
  }
  return search.found;
}

}  // namespace

Mapped mapped(const dl_phdr_info& object) noexcept {
  return {extent_of(object, 0), extent_of(object, PF_X)};
}

DynamicSymbols::DynamicSymbols(void* library) noexcept {
  // A handle is the address of this structure.
  if (const auto* map = static_cast<const link_map*>(library); map != nullptr && map->l_ld != nullptr) {
    base_ = map->l_addr;
    mapped_ = mapped_around(map->l_ld);
    read(address_of(map->l_ld));
  }
}

DynamicSymbols::DynamicSymbols(const dl_phdr_info& object) noexcept
    : DynamicSymbols(object.dlpi_addr, dynamic_of(object), mapped(object)) {}

DynamicSymbols::DynamicSymbols(std::uintptr_t base, std::uintptr_t dynamic, const Mapped& mapped) noexcept
    : base_(base), mapped_(mapped) {
  read(dynamic);
}

/// So many of them at `place`; null if they are not all of the object, or not aligned.
template <class T>
const T* DynamicSymbols::at(std::uintptr_t place, std::size_t count) const noexcept {
  return place % alignof(T) == 0 && count <= SIZE_MAX / sizeof(T) && mapped_.all.has(place, count * sizeof(T))
             ? pointer<T>(place)
             : nullptr;
}

bool DynamicSymbols::word(const std::uint32_t* place, std::size_t index, std::uint32_t* value) const noexcept {
  const auto* found = at<std::uint32_t>(address_of(place) + index * sizeof(*place));
  *value = found == nullptr ? 0 : *found;
  return found != nullptr;
}

void DynamicSymbols::read(std::uintptr_t dynamic) noexcept {
  std::uintptr_t symbols = 0;
  std::uintptr_t strings = 0;
  std::uintptr_t hash = 0;
  std::uintptr_t gnu_hash = 0;
  std::uintptr_t versions = 0;
  std::uintptr_t definitions = 0;
  for (const ElfW(Dyn)* entry = at<ElfW(Dyn)>(dynamic); entry != nullptr && entry->d_tag != DT_NULL;
       entry = at<ElfW(Dyn)>(address_of(entry + 1))) {
    // glibc has made addresses of what are offsets in the file, but not in what the kernel maps.
    const std::uintptr_t given = entry->d_un.d_ptr;
    const std::uintptr_t place = given < base_ ? base_ + given : given;
    switch (entry->d_tag) {
      case DT_SYMTAB: symbols = place; break;
      case DT_STRTAB: strings = place; break;
      case DT_STRSZ: string_bytes_ = entry->d_un.d_val; break;
      case DT_HASH: hash = place; break;
      case DT_GNU_HASH: gnu_hash = place; break;
      case DT_VERSYM: versions = place; break;
      case DT_VERDEF: definitions = place; break;
      default: break;
    }
  }
  symbols_ = at<ElfW(Sym)>(symbols);
  strings_ = at<char>(strings, string_bytes_);
  if (symbols_ == nullptr || strings_ == nullptr) {
    return;
  }
  // Then every name that begins in them ends in them.
  while (string_bytes_ != 0 && strings_[string_bytes_ - 1] != '\0') {
    --string_bytes_;
  }
  versions_ = at<std::uint16_t>(versions);
  definitions_ = at<ElfW(Verdef)>(definitions);
  if (const auto* table = at<std::uint32_t>(gnu_hash, 4); table != nullptr) {
    constexpr std::size_t kFilterWords = sizeof(ElfW(Addr)) / sizeof(std::uint32_t);
    const std::size_t behind = 4 + std::size_t{table[2]} * kFilterWords;
    gnu_hash_.buckets = table[0];
    gnu_hash_.first = table[1];
    gnu_hash_.bucket = at<std::uint32_t>(gnu_hash + behind * sizeof(std::uint32_t), table[0]);
    gnu_hash_.chain = gnu_hash_.bucket == nullptr ? nullptr : gnu_hash_.bucket + table[0];
  }
  if (const auto* table = at<std::uint32_t>(hash, 2);
      table != nullptr && at<std::uint32_t>(hash, 2 + std::size_t{table[0]} + table[1]) != nullptr) {
    hash_ = table;
  }
}

// How many symbols it covers: the last chain's end.
std::size_t DynamicSymbols::count_by_gnu_hash() const noexcept {
  if (gnu_hash_.bucket == nullptr) {
    return 0;
  }
  std::uint32_t last = 0;
  for (std::uint32_t index = 0; index < gnu_hash_.buckets; ++index) {
    last = std::max(last, gnu_hash_.bucket[index]);
  }
  if (last < gnu_hash_.first) {
    return gnu_hash_.first;
  }
  std::uint32_t link = 0;
  while (word(gnu_hash_.chain, last - gnu_hash_.first, &link) && (link & 1U) == 0) {
    ++last;
  }
  return std::size_t{last} + 1;
}

void* DynamicSymbols::find(const char* name, const char* version) const noexcept {
  if (gnu_hash_.bucket != nullptr) {
    return find_by_gnu_hash(name, version);
  }
  return hash_ != nullptr ? find_by_hash(name, version) : nullptr;
}

void* DynamicSymbols::find_by_gnu_hash(const char* name, const char* version) const noexcept {
  const GnuHash& table = gnu_hash_;
  std::uint32_t hash = 5381;
  for (const char* letter = name; *letter != '\0'; ++letter) {
    hash = hash * 33 + static_cast<unsigned char>(*letter);
  }
  std::uint32_t index = table.buckets == 0 ? 0 : table.bucket[hash % table.buckets];
  for (bool last = index < table.first; !last; ++index) {
    std::uint32_t link = 1;
    if (!word(table.chain, index - table.first, &link)) {
      return nullptr;
    }
    if (((link ^ hash) >> 1U) == 0) {
      if (void* const found = match(index, name, version); found != nullptr) {
        return found;
      }
    }
    last = (link & 1U) != 0;
  }
  return nullptr;
}

void* DynamicSymbols::find_by_hash(const char* name, const char* version) const noexcept {
  std::uint32_t hash = 0;
  for (const char* letter = name; *letter != '\0'; ++letter) {
    hash = (hash << 4U) + static_cast<unsigned char>(*letter);
    hash = (hash ^ ((hash & 0xf0000000U) >> 24U)) & 0x0fffffffU;
  }
  const std::uint32_t buckets = hash_[0];
  const std::uint32_t* const chain = hash_ + 2 + buckets;
  const std::uint32_t links = hash_[1];
  std::uint32_t index = buckets == 0 ? 0 : hash_[2 + hash % buckets];
  // No chain is longer than all of them together: one that is goes in a circle.
  for (std::uint32_t step = 0; step < links && index != 0 && index < links; ++step, index = chain[index]) {
    if (void* const found = match(index, name, version); found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

void* DynamicSymbols::match(std::size_t index, const char* wanted, const char* version) const noexcept {
  return exported(index) && same(name(index), wanted) && has_version(index, version) ? address(index) : nullptr;
}

bool DynamicSymbols::exported(std::size_t index) const noexcept {
  if (at<ElfW(Sym)>(address_of(symbols_) + index * sizeof(*symbols_)) == nullptr) {
    return false;
  }
  const ElfW(Sym)& symbol = symbols_[index];
  const unsigned binding = ELF64_ST_BIND(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 && ELF64_ST_TYPE(symbol.st_info) != STT_TLS &&
         (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) && symbol.st_name < string_bytes_;
}

bool DynamicSymbols::has_version(std::size_t index, const char* version) const noexcept {
  const auto* of_symbol =
      versions_ == nullptr ? nullptr : at<std::uint16_t>(address_of(versions_) + index * sizeof(*versions_));
  if (version == nullptr) {
    return of_symbol == nullptr || (*of_symbol & kHidden) == 0;
  }
  // Each lies behind the one before, so that they end.
  for (const ElfW(Verdef)* definition = of_symbol == nullptr ? nullptr : definitions_; definition != nullptr;) {
    const std::uintptr_t place = address_of(definition);
    if (definition->vd_ndx == (*of_symbol & ~kHidden)) {
      const auto* name = at<ElfW(Verdaux)>(place + definition->vd_aux);
      return name != nullptr && name->vda_name < string_bytes_ && same(strings_ + name->vda_name, version);
    }
    definition = definition->vd_next == 0 ? nullptr : at<ElfW(Verdef)>(place + definition->vd_next);
  }
  return false;
}

void* DynamicSymbols::address(std::size_t index) const noexcept {
  const std::uintptr_t place = base_ + symbols_[index].st_value;
  if (ELF64_ST_TYPE(symbols_[index].st_info) == STT_GNU_IFUNC) {
    // It says which function to use.
    return mapped_.code.has(place, 1) ? reinterpret_cast<void* (*)()>(place)() : nullptr;
  }
  return reinterpret_cast<void*>(place);
}

void* DynamicSymbols::function(std::size_t index) const noexcept {
  return exported(index) && ELF64_ST_TYPE(symbols_[index].st_info) == STT_FUNC ? address(index) : nullptr;
}

const char* DynamicSymbols::name(std::size_t index) const noexcept {
  return strings_ + symbols_[index].st_name;
}

}  // namespace refrain::layer
