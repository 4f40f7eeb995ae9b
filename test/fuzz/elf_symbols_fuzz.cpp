// Any bytes as a library in memory: its dynamic section and the tables that it names.
//
// Offsets are addresses in the file, as in a library of one segment. The dynamic section is where the file's program
// headers say, as far as they are in it, or else behind the header.
#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "layer/elf_symbols.h"

namespace {

std::size_t dynamic_offset(const std::uint8_t* data, std::size_t size) {
  Elf64_Ehdr header;
  if (size < sizeof(header)) {
    return 0;
  }
  std::memcpy(&header, data, sizeof(header));
  for (std::size_t index = 0; index < header.e_phnum; ++index) {
    const std::size_t at = header.e_phoff + index * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    if (at > size || sizeof(segment) > size - at) {
      break;
    }
    std::memcpy(&segment, data + at, sizeof(segment));
    if (segment.p_type == PT_DYNAMIC) {
      return segment.p_vaddr;
    }
  }
  return sizeof(header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using refrain::layer::DynamicSymbols;
  std::vector<std::uint64_t> exact((size + 7) / 8);  // aligned, as what is mapped
  if (size != 0) {
    std::memcpy(exact.data(), data, size);
  }
  const auto base = reinterpret_cast<std::uintptr_t>(exact.data());
  const refrain::layer::Mapped mapped{{base, base + size}, {0, 0}};  // nothing in it can be called
  const DynamicSymbols symbols(base, base + dynamic_offset(data, size), mapped);
  for (const char* name : {"cuInit", "refrain_cuda_shim", "", "open"}) {
    static_cast<void>(symbols.find(name));
    static_cast<void>(symbols.find(name, "libcudart.so.12"));
  }
  // A table may claim to have more symbols than any file: what is asked for beyond its end is not there.
  constexpr std::size_t kMost = 4096;
  for (std::size_t index = 1; index < symbols.count() && index < kMost; ++index) {
    if (symbols.function(index) != nullptr && std::string_view(symbols.name(index)).size() > size) {
      std::abort();
    }
  }
  return 0;
}
