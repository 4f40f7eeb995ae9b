#include "layer/shared_mapping.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace refrain::layer {

bool is_shared_mapping(const void* start, std::size_t bytes) noexcept {
  struct Close {
    void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
  };
  const std::unique_ptr<std::FILE, Close> maps(std::fopen("/proc/self/maps", "re"));
  const auto first = reinterpret_cast<std::uint64_t>(start);
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  char kind = 0;
  // Each line: START-END rwxp OFFSET DEVICE INODE PATH.
  // NOLINTNEXTLINE(cert-err34-c): the numbers are the kernel's
  while (maps != nullptr && std::fscanf(maps.get(), "%" SCNx64 "-%" SCNx64 " %*3c%c%*[^\n]", &from, &to, &kind) == 3) {
    if (from < first + bytes && first < to && kind == 's') {
      return true;
    }
  }
  return maps == nullptr || std::feof(maps.get()) == 0;
}

}  // namespace refrain::layer
