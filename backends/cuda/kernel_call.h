// How a kernel launch of CUDA is written into a record, and read back.
//
//   words      as for every kernel; global size = grid x block (threads), offset unused
//   arguments  the parameters in order (kValue), then one kLocalMemory: the dynamic shared memory, then,
//              if the launch has attributes, one kValue: an array of CUlaunchAttribute, unused bytes zero
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "backends/cuda/cuda_headers.h"
#include "backends/pointer_list.h"
#include "capture/operation.h"

namespace refrain::backends {

struct Grid {
  unsigned x = 1, y = 1, z = 1;
};

/// Points into the record it was read from.
struct KernelCall {
  Grid grid, block;
  unsigned shared_bytes = 0;
  PointerList parameters;
  std::span<CUlaunchAttribute> attributes;

  /// False if the record is no launch as described above.
  bool read(const capture::OperationView& operation);
};

/// Record words of a launch.
[[nodiscard]] std::array<std::uint64_t, capture::words::kKernelCount> shape_words(const Grid& grid,
                                                                                  const Grid& block) noexcept;

/// The number of an attribute. (A program made for a newer driver may have numbers that the enumeration lacks, and
/// reading one as such would be undefined.)
[[nodiscard]] int id_of(const CUlaunchAttribute& attribute) noexcept;

/// Copies an attribute so that equal attributes have equal bytes. False if a launch with it cannot be held:
/// it names an event or a node, or nobody here knows it.
bool normalize(const CUlaunchAttribute& given, CUlaunchAttribute* result) noexcept;

}  // namespace refrain::backends
