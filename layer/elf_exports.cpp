#include "layer/elf_exports.h"

#include <elf.h>

#include <algorithm>

#include "layer/elf_symbols.h"

namespace refrain::layer {
namespace {

// No std::bit_cast: the analyser of clang-tidy 14 crashes where an element of what it gives is read.
template <class T>
T* pointer(Elf64_Addr address) noexcept {
  return reinterpret_cast<T*>(address);
}

}  // namespace

std::vector<ExportedFunction> exported_functions(void* library) {
  std::vector<ExportedFunction> found;
  const DynamicSymbols symbols(library);
  const std::size_t count = symbols.count();
  for (std::size_t index = 1; index < count; ++index) {
    if (void* const function = symbols.function(index); function != nullptr) {
      found.push_back({symbols.name(index), function});
    }
  }
  return found;
}

Segments::Segments(const void* address, Kind kind) {
  const auto* const wanted = static_cast<const char*>(address);
  visit_loaded_objects([&](const dl_phdr_info& info) {
    std::vector<Range> ranges;
    bool inside = false;
    for (int index = 0; index < info.dlpi_phnum; ++index) {
      const Elf64_Phdr& header = info.dlpi_phdr[index];
      if (header.p_type != PT_LOAD) {
        continue;
      }
      const char* begin = pointer<const char>(info.dlpi_addr + header.p_vaddr);
      const Range range{begin, begin + header.p_memsz};
      inside = inside || (wanted >= range.begin && wanted < range.end);
      if (kind == Kind::kAll || (header.p_flags & PF_X) != 0) {
        ranges.push_back(range);
      }
    }
    if (inside) {
      ranges_ = std::move(ranges);
    }
    return inside;
  });
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
