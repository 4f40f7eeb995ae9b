// Kernel launches of CUDA in records: as streams/operation.h says, and what more there is to say of one is an array of
// CUlaunchAttribute, unused bytes zero.
#pragma once

#include <span>

#include "backends/cuda/cuda_headers.h"
#include "backends/streams/operation.h"

namespace refrain::backends {

/// Points into the record it was read from.
struct KernelCall : KernelLaunch {
  std::span<CUlaunchAttribute> attributes;

  /// False if the record is no launch of CUDA.
  bool read(const capture::OperationView& operation);
};

/// The number of an attribute. (A program made for a newer driver may have numbers that the enumeration lacks, and
/// reading one as such would be undefined.)
[[nodiscard]] int id_of(const CUlaunchAttribute& attribute) noexcept;

/// True for a launch that may begin before the kernel in front of it in its stream has ended.
[[nodiscard]] bool may_begin_early(const capture::OperationView& operation);

/// Copies an attribute so that equal attributes have equal bytes. False if a launch with it cannot be held:
/// it names an event or a node, or nobody here knows it.
bool normalize(const CUlaunchAttribute& given, CUlaunchAttribute* result) noexcept;

/// True if those of `given` that count are normalized to exactly these bytes.
[[nodiscard]] bool same_attributes(std::span<const CUlaunchAttribute> given,
                                   std::span<const std::byte> normalized) noexcept;

}  // namespace refrain::backends
