#include "replay/report/region_totals.h"

#include <algorithm>
#include <new>

#include "env/region_sums.h"

namespace refrain::replay {
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

// A region has a higher number than what is around it.
std::vector<RegionSummary> RegionTotals::summaries() const {
  std::vector<Row> rows = this->rows();
  for (std::size_t i = rows.size(); i-- > 0;) {
    if (const env::Region* region = rows[i].region; region != nullptr && region->parent != nullptr) {
      rows[region->parent->id].region = region->parent;  // which nothing may have come in alone
    }
  }
  std::vector<RegionSummary> result;
  for (const Row& row : rows) {
    if (const env::Region* region = row.region; region != nullptr) {
      result.push_back({region->id, region->parent == nullptr ? 0 : region->parent->id, region->name, row.entered,
                        row.submissions, row.replayed});
    }
  }
  env::add_up(result);
  return result;
}

}  // namespace refrain::replay
