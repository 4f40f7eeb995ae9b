// What a real driver, or a large program, leaves of the caches: between two calls it runs through its own code and
// data.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace refrain::bench {

/// Code of the given size, of which every cache line reads a cache line of data.
class ColdCaches {
 public:
  /// So much code, and as much data; none if there is no memory that may be run. What it takes is never given back.
  explicit ColdCaches(std::size_t kib) {
    const std::size_t lines = kib * 1024 / kLine;
    if (lines == 0) {
      return;
    }
    const std::size_t bytes = (lines + 1) * kLine;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return;
    }
    data_.resize(lines * kLine);
    auto* line = static_cast<unsigned char*>(memory);
    for (std::size_t i = 0; i < lines; ++i, line += kLine) {
      constexpr unsigned char kLoad[] = {0x48, 0x8b, 0x87};         // mov rax, [rdi + 32 bits]
      constexpr unsigned char kNext[] = {0xeb, kLine - 3 - 4 - 2};  // jmp to the next line
      const auto displacement = static_cast<std::uint32_t>(i * kLine);
      std::memcpy(line, kLoad, sizeof(kLoad));
      std::memcpy(line + 3, &displacement, sizeof(displacement));
      std::memcpy(line + 7, kNext, sizeof(kNext));
    }
    *line = 0xc3;  // ret
    if (mprotect(memory, bytes, PROT_READ | PROT_EXEC) == 0) {
      code_ = reinterpret_cast<void (*)(const void*)>(memory);
    }
  }

  /// `SWALLOW_KIB` of it.
  static const ColdCaches& from_environment() {
    const char* const kib = std::getenv("SWALLOW_KIB");
    static const ColdCaches& only = *new ColdCaches(kib == nullptr ? 0 : std::strtoul(kib, nullptr, 10));
    return only;
  }

  void run_through() const {
    if (code_ != nullptr) {
      code_(data_.data());
    }
  }

 private:
  static constexpr std::size_t kLine = 64;

  std::vector<unsigned char> data_;
  void (*code_)(const void*) = nullptr;
};

}  // namespace refrain::bench
