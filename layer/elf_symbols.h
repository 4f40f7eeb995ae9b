// The dynamic symbols of a library that is loaded, looked up in its own tables.
//
// Not by dlsym(): a library that is preloaded may answer dlsym() for names of a driver with functions of its own, and
// what those call is us. Needs no C library, so that what is preloaded into every process can use it, too.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace refrain::layer {

class DynamicSymbols {
 public:
  /// Of the library with this dlopen() handle, or null. It must stay loaded.
  explicit DynamicSymbols(void* library) noexcept;
  /// Of what is loaded at `base`, with this dynamic section.
  DynamicSymbols(std::uintptr_t base, const ElfW(Dyn) * dynamic) noexcept;

  /// What the library itself exports by this name; null if it does not. Of several versions the default one, or else
  /// the one that is named.
  [[nodiscard]] void* find(const char* name, const char* version = nullptr) const noexcept;

  /// Symbols are numbered from 1 up to here.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// The address of symbol `index` if it is an exported function, otherwise null.
  [[nodiscard]] void* function(std::size_t index) const noexcept;
  [[nodiscard]] const char* name(std::size_t index) const noexcept;

 private:
  void read(const ElfW(Dyn) * dynamic) noexcept;
  [[nodiscard]] bool exported(std::size_t index) const noexcept;
  [[nodiscard]] bool has_version(std::size_t index, const char* version) const noexcept;
  [[nodiscard]] void* address(std::size_t index) const noexcept;
  [[nodiscard]] void* match(std::size_t index, const char* name, const char* version) const noexcept;
  [[nodiscard]] void* find_by_gnu_hash(const char* name, const char* version) const noexcept;
  [[nodiscard]] void* find_by_hash(const char* name, const char* version) const noexcept;

  std::uintptr_t base_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  std::size_t string_bytes_ = 0;
  std::size_t count_ = 0;
  const std::uint32_t* hash_ = nullptr;
  const std::uint32_t* gnu_hash_ = nullptr;
  const std::uint16_t* versions_ = nullptr;
  const ElfW(Verdef) * definitions_ = nullptr;
};

}  // namespace refrain::layer
