// Records of operations as APIs with streams write and read them.
#pragma once

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

/// The numbers of a launch.
[[nodiscard, gnu::always_inline]] inline capture::words::Kernel shape_of(const Grid& grid, const Grid& block) noexcept {
  return {.dimensions = 3,
          .offset = {},
          .global = {std::uint64_t{grid.x} * block.x, std::uint64_t{grid.y} * block.y, std::uint64_t{grid.z} * block.z},
          .local = {block.x, block.y, block.z}};
}

/// A function of the program, called in the order of a stream. Arguments: its address and what it is given, both
/// kHostPointer.
struct HostFunction {
  void (*function)(void*) = nullptr;
  void* data = nullptr;

  /// False if the record is none.
  bool read(const capture::OperationView& operation) noexcept;
};

}  // namespace refrain::backends
