#include "layer/elf_symbols.h"

#include <elf.h>

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

/// The parts of a GNU hash table.
struct GnuHash {
  explicit GnuHash(const std::uint32_t* table) noexcept
      : buckets(table[0]),
        first(table[1]),
        bucket(reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const ElfW(Addr) *>(table + 4) + table[2])),
        chain(bucket + buckets) {}
  std::uint32_t buckets;
  std::uint32_t first;  ///< symbol of the first chain
  const std::uint32_t* bucket;
  const std::uint32_t* chain;
};

// How many symbols it covers: the last chain's end.
std::size_t count_by_gnu_hash(const GnuHash& table) noexcept {
  std::uint32_t last = 0;
  for (std::uint32_t index = 0; index < table.buckets; ++index) {
    last = table.bucket[index] > last ? table.bucket[index] : last;
  }
  if (last < table.first) {
    return table.first;
  }
  while ((table.chain[last - table.first] & 1U) == 0) {
    ++last;
  }
  return last + 1;
}

}  // namespace

DynamicSymbols::DynamicSymbols(void* library) noexcept {
  // A handle is the address of this structure.
  if (const auto* map = static_cast<const link_map*>(library); map != nullptr && map->l_ld != nullptr) {
    base_ = map->l_addr;
    read(map->l_ld);
  }
}

DynamicSymbols::DynamicSymbols(std::uintptr_t base, const ElfW(Dyn) * dynamic) noexcept : base_(base) {
  read(dynamic);
}

void DynamicSymbols::read(const ElfW(Dyn) * dynamic) noexcept {
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    // glibc has made addresses of what are offsets in the file, but not in what the kernel maps.
    const std::uintptr_t given = entry->d_un.d_ptr;
    const std::uintptr_t place = given < base_ ? base_ + given : given;
    switch (entry->d_tag) {
      case DT_SYMTAB: symbols_ = pointer<ElfW(Sym)>(place); break;
      case DT_STRTAB: strings_ = pointer<char>(place); break;
      case DT_STRSZ: string_bytes_ = entry->d_un.d_val; break;
      case DT_HASH: hash_ = pointer<std::uint32_t>(place); break;
      case DT_GNU_HASH: gnu_hash_ = pointer<std::uint32_t>(place); break;
      case DT_VERSYM: versions_ = pointer<std::uint16_t>(place); break;
      case DT_VERDEF: definitions_ = pointer<ElfW(Verdef)>(place); break;
      default: break;
    }
  }
  if (symbols_ == nullptr || strings_ == nullptr) {
    hash_ = gnu_hash_ = nullptr;
  }
  if (hash_ != nullptr) {
    count_ = hash_[1];
  } else if (gnu_hash_ != nullptr) {
    count_ = count_by_gnu_hash(GnuHash(gnu_hash_));
  }
}

void* DynamicSymbols::find(const char* name, const char* version) const noexcept {
  if (gnu_hash_ != nullptr) {
    return find_by_gnu_hash(name, version);
  }
  return hash_ != nullptr ? find_by_hash(name, version) : nullptr;
}

void* DynamicSymbols::find_by_gnu_hash(const char* name, const char* version) const noexcept {
  const GnuHash table(gnu_hash_);
  std::uint32_t hash = 5381;
  for (const char* letter = name; *letter != '\0'; ++letter) {
    hash = hash * 33 + static_cast<unsigned char>(*letter);
  }
  std::uint32_t index = table.buckets == 0 ? 0 : table.bucket[hash % table.buckets];
  for (bool last = index < table.first; !last; ++index) {
    const std::uint32_t link = table.chain[index - table.first];
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
  for (std::uint32_t index = buckets == 0 ? 0 : hash_[2 + hash % buckets]; index != 0; index = chain[index]) {
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
  const ElfW(Sym)& symbol = symbols_[index];
  const unsigned binding = ELF64_ST_BIND(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 && ELF64_ST_TYPE(symbol.st_info) != STT_TLS &&
         (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) && symbol.st_name < string_bytes_;
}

bool DynamicSymbols::has_version(std::size_t index, const char* version) const noexcept {
  if (version == nullptr) {
    return versions_ == nullptr || (versions_[index] & kHidden) == 0;
  }
  const ElfW(Verdef)* definition = versions_ == nullptr ? nullptr : definitions_;
  while (definition != nullptr) {
    const auto place = reinterpret_cast<std::uintptr_t>(definition);
    if (definition->vd_ndx == (versions_[index] & ~kHidden)) {
      return same(strings_ + pointer<ElfW(Verdaux)>(place + definition->vd_aux)->vda_name, version);
    }
    definition = definition->vd_next == 0 ? nullptr : pointer<ElfW(Verdef)>(place + definition->vd_next);
  }
  return false;
}

void* DynamicSymbols::address(std::size_t index) const noexcept {
  const std::uintptr_t place = base_ + symbols_[index].st_value;
  if (ELF64_ST_TYPE(symbols_[index].st_info) == STT_GNU_IFUNC) {
    return reinterpret_cast<void* (*)()>(place)();  // it says which function to use
  }
  return reinterpret_cast<void*>(place);
}

void* DynamicSymbols::function(std::size_t index) const noexcept {
  return ELF64_ST_TYPE(symbols_[index].st_info) == STT_FUNC && exported(index) ? address(index) : nullptr;
}

const char* DynamicSymbols::name(std::size_t index) const noexcept {
  return strings_ + symbols_[index].st_name;
}

}  // namespace refrain::layer
