// Memory by address where no kernel of Refrain's own runs: it is brought to the host, which numbers and keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/addressed_memory.h"

namespace refrain::backends {

class MemoryThroughHost : public AddressedMemory {
 public:
  Status hash(std::span<const MemoryRange> ranges, std::vector<std::uint64_t>* numbers) noexcept final;
  Status read(const MemoryRange& range, std::byte* into) noexcept final;
  std::unique_ptr<MemoryCopy> copy(std::span<const MemoryRange> ranges, std::uint64_t most) noexcept final;

 protected:
  /// Between begin() and end(): copies memory, of the host on one side, and waits until that is done.
  virtual Status move(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept = 0;
  [[nodiscard]] virtual Status out_of_memory() const noexcept = 0;

 private:
  class Copy;

  std::uint64_t in_copies_ = 0;  ///< bytes
};

}  // namespace refrain::backends
