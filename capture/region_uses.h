// What the writer's thread counts of the program's regions.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "capture/model.h"
#include "env/region.h"

namespace refrain::capture {

/// Which graphs' stretches began in which region. Not thread-safe.
class RegionUses {
 public:
  /// A stretch of this graph began in the region, and has ended.
  void add(const env::Region& region, std::uint32_t graph);
  /// Regions of which something new is to be told, each behind what is around it.
  [[nodiscard]] std::vector<RegionUse> take_changed();

 private:
  struct Use {
    const env::Region* region = nullptr;  ///< null: nobody was in it
    bool changed = false;
    std::unordered_map<std::uint32_t, std::uint64_t> graphs;
  };
  Use& use_of(const env::Region& region);

  std::vector<Use> uses_;  ///< by Region::id
};

}  // namespace refrain::capture
