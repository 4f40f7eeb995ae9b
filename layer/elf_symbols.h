// The dynamic symbols of a library that is loaded, looked up in its own tables.
//
// By hand: libelf reads files, by section headers, which are not loaded, and has no lookup by hash or version.
//
// Not by dlsym(): a library that is preloaded may answer dlsym() for names of a driver with functions of its own, and
// what those call is us. Needs no C library, so that what is preloaded into every process can use it, too.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace refrain::layer {

/// Addresses from `begin` up to `end`; by itself all there are.
struct Extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = ~std::uintptr_t{0};
  [[nodiscard]] bool has(std::uintptr_t place, std::size_t bytes) const noexcept {
    return place >= begin && place <= end && bytes <= end - place;
  }
};

/// Of a loaded object: what of it may be read, and what may be called.
struct Mapped {
  Extent all;
  Extent code;
};

/// Of what dl_iterate_phdr() tells of.
[[nodiscard]] Mapped mapped(const dl_phdr_info& object) noexcept;

/// Reads and calls nothing outside of the object, whatever its tables say.
class DynamicSymbols {
 public:
  /// Of the library with this dlopen() handle, or null. It must stay loaded.
  explicit DynamicSymbols(void* library) noexcept;
  /// Of what dl_iterate_phdr() tells of.
  explicit DynamicSymbols(const dl_phdr_info& object) noexcept;
  /// Of what is loaded at `base`, with the dynamic section there.
  DynamicSymbols(std::uintptr_t base, std::uintptr_t dynamic, const Mapped& mapped) noexcept;

  /// What the library itself exports by this name; null if it does not. Of several versions the default one, or else
  /// the one that is named.
  [[nodiscard]] void* find(const char* name, const char* version = nullptr) const noexcept;

  /// Symbols are numbered from 1 up to here. Reads the whole hash table.
  [[nodiscard]] std::size_t count() const noexcept { return hash_ != nullptr ? hash_[1] : count_by_gnu_hash(); }
  /// The address of symbol `index` if it is an exported function, otherwise null.
  [[nodiscard]] void* function(std::size_t index) const noexcept;
  [[nodiscard]] const char* name(std::size_t index) const noexcept;

 private:
  void read(std::uintptr_t dynamic) noexcept;
  template <class T>
  [[nodiscard]] const T* at(std::uintptr_t place, std::size_t count = 1) const noexcept;
  [[nodiscard]] bool word(const std::uint32_t* place, std::size_t index, std::uint32_t* value) const noexcept;
  [[nodiscard]] std::size_t count_by_gnu_hash() const noexcept;
  [[nodiscard]] bool exported(std::size_t index) const noexcept;
  [[nodiscard]] bool has_version(std::size_t index, const char* version) const noexcept;
  [[nodiscard]] void* address(std::size_t index) const noexcept;
  [[nodiscard]] void* match(std::size_t index, const char* name, const char* version) const noexcept;
  [[nodiscard]] void* find_by_gnu_hash(const char* name, const char* version) const noexcept;
  [[nodiscard]] void* find_by_hash(const char* name, const char* version) const noexcept;

  /// The parts of a GNU hash table.
  struct GnuHash {
    std::uint32_t buckets = 0;
    std::uint32_t first = 0;  ///< symbol of the first chain
    const std::uint32_t* bucket = nullptr;
    const std::uint32_t* chain = nullptr;
  };

  std::uintptr_t base_ = 0;
  Mapped mapped_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  std::size_t string_bytes_ = 0;
  const std::uint32_t* hash_ = nullptr;
  GnuHash gnu_hash_;
  const std::uint16_t* versions_ = nullptr;
  const ElfW(Verdef) * definitions_ = nullptr;
};

}  // namespace refrain::layer
