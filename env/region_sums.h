// Figures of regions with those of the regions inside them, and whole names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace refrain::env {

/// `regions`: each with its own name and figures alone, and behind what is around it. Afterwards names are whole
/// ("step/forward") and in order, and figures have those of what is inside. `Region` has id, parent (0: none), name,
/// and add_inside(). May throw std::bad_alloc; std::out_of_range if a parent is not in front.
template <class Region>
void add_up(std::vector<Region>& regions) {
  std::unordered_map<std::uint32_t, std::size_t> places;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    Region& region = regions[i];
    if (region.parent != 0) {
      region.name = regions[places.at(region.parent)].name + "/" + region.name;
    }
    places[region.id] = i;
  }
  for (std::size_t i = regions.size(); i-- > 0;) {
    if (regions[i].parent != 0) {
      regions[places.at(regions[i].parent)].add_inside(regions[i]);
    }
  }
  std::stable_sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) { return a.name < b.name; });
}

}  // namespace refrain::env
