#include "replay/report/region_totals.h"

#include <algorithm>
#include <map>
#include <new>

namespace refrain::replay {
namespace {

std::string path_of(const env::Region& region) {
  std::string path = region.name;
  for (const env::Region* around = region.parent; around != nullptr; around = around->parent) {
    path = std::string(around->name) + "/" + path;
  }
  return path;
}

}  // namespace

void RegionTotals::add(const Row& row) noexcept {
  const std::size_t id = row.region->id;
  if (id >= rows_.size()) {
    try {
      rows_.resize(std::max<std::size_t>(id + 1, 2 * rows_.size()));
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  rows_[id] += row;
}

void RegionTotals::add(const env::Region& region, bool entered, std::uint64_t submissions,
                       std::uint64_t replayed) noexcept {
  const env::MutexLock lock(mutex_);
  add({&region, entered ? std::uint64_t{1} : 0, submissions, replayed});
}

void RegionTotals::add_all(const RegionTotals& other) noexcept {
  try {
    const std::vector<Row> rows = other.rows();
    const env::MutexLock lock(mutex_);
    for (const Row& row : rows) {
      if (row.region != nullptr) {
        add(row);
      }
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): nothing is added
  }
}

std::vector<RegionTotals::Row> RegionTotals::rows() const {
  const env::MutexLock lock(mutex_);
  return rows_;
}

std::vector<RegionSummary> RegionTotals::summaries() const {
  std::map<std::string, RegionSummary> sums;
  for (const Row& row : rows()) {
    if (row.region == nullptr) {
      continue;
    }
    sums[path_of(*row.region)].entered += row.entered;
    for (const env::Region* region = row.region; region != nullptr; region = region->parent) {
      RegionSummary& sum = sums[path_of(*region)];
      sum.submissions += row.submissions;
      sum.replayed += row.replayed;
    }
  }
  std::vector<RegionSummary> result;
  for (auto& [path, sum] : sums) {
    sum.name = path;
    result.push_back(sum);
  }
  return result;
}

}  // namespace refrain::replay
