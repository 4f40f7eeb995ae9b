#include "capture/region_uses.h"

#include <algorithm>

namespace refrain::capture {

RegionUses::Use& RegionUses::use_of(const env::Region& region) {
  if (region.id >= uses_.size()) {
    uses_.resize(std::max<std::size_t>(region.id + 1, 2 * uses_.size()));
  }
  Use& use = uses_[region.id];
  if (use.region == nullptr) {
    use.region = &region;
    use.changed = true;
    if (region.parent != nullptr) {
      use_of(*region.parent);
    }
  }
  return uses_[region.id];
}

void RegionUses::add(const env::Region& region, std::uint32_t graph) {
  Use& use = use_of(region);
  ++use.graphs[graph];
  use.changed = true;
}

// A region has a higher number than what is around it.
std::vector<RegionUse> RegionUses::take_changed() {
  std::vector<RegionUse> result;
  for (Use& use : uses_) {
    if (!use.changed) {
      continue;
    }
    use.changed = false;
    const env::Region& region = *use.region;
    RegionUse& told = result.emplace_back();
    told.id = region.id;
    told.parent = region.parent == nullptr ? 0 : region.parent->id;
    told.name = region.name;
    told.graphs.assign(use.graphs.begin(), use.graphs.end());
    std::sort(told.graphs.begin(), told.graphs.end());
  }
  return result;
}

}  // namespace refrain::capture
