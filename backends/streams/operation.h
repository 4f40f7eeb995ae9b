// Records of operations as APIs with streams write and read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/pointer_list.h"
#include "capture/operation.h"

namespace refrain::backends {

/// False for operations without work of their own (event record and wait).
[[nodiscard]] inline bool has_work(const capture::OperationView& operation) noexcept {
  return operation.kind() != capture::OperationKind::kEventRecord &&
         operation.kind() != capture::OperationKind::kEventWait;
}

struct Grid {
  unsigned x = 1, y = 1, z = 1;
};

/// How a kernel launch is written into a record, and read back.
///
///   words      as for every kernel; global size = grid x block (threads), offset unused
///   arguments  the parameters in order (kValue), then one kLocalMemory: the dynamic shared memory, then, if the API
///              has more to say of a launch, one kValue
///
/// Points into the record it was read from.
struct KernelLaunch {
  Grid grid, block;
  unsigned shared_bytes = 0;
  PointerList parameters;
  std::span<std::byte> more;  ///< empty: there is none

  /// False if the record is no launch as described above. May throw std::bad_alloc.
  bool read(const capture::OperationView& operation);
};

/// Writes the words::kKernelCount words of a launch.
inline void write_shape_words(std::uint64_t* words, const Grid& grid, const Grid& block) noexcept {
  words[capture::words::kDimensions] = 3;
  for (int i = 0; i < 3; ++i) {
    words[capture::words::kOffset + i] = 0;
  }
  words[capture::words::kGlobal] = std::uint64_t{grid.x} * block.x;
  words[capture::words::kGlobal + 1] = std::uint64_t{grid.y} * block.y;
  words[capture::words::kGlobal + 2] = std::uint64_t{grid.z} * block.z;
  words[capture::words::kLocal] = block.x;
  words[capture::words::kLocal + 1] = block.y;
  words[capture::words::kLocal + 2] = block.z;
}

/// Record words of a launch.
[[nodiscard]] inline std::array<std::uint64_t, capture::words::kKernelCount> shape_words(const Grid& grid,
                                                                                         const Grid& block) noexcept {
  std::array<std::uint64_t, capture::words::kKernelCount> words;
  write_shape_words(words.data(), grid, block);
  return words;
}

}  // namespace refrain::backends
