// Regions: parts of its run that a program names (layer/refrain.h, or NVTX, ITT and roctx ranges), one inside another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::env {

/// A name inside the regions around it. Never changed and never freed once others can see it, so that any thread may
/// keep a pointer to one for the life of the process.
struct Region {
  static constexpr std::size_t kMost = 1024;       ///< limit: of different ones; more belong to what is around them
  static constexpr std::size_t kDeepest = 32;      ///< limit: regions inside one another; more belong to the last one
  static constexpr std::size_t kLongestName = 63;  ///< limit: bytes; the rest is cut off

  const Region* parent = nullptr;  ///< null: outermost
  std::uint32_t id = 0;            ///< from 1, of those of the process
  char name[kLongestName + 1] = {};
};

}  // namespace refrain::env
