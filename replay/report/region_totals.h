// What was submitted in each region that the program named.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "env/mutex.h"
#include "env/region.h"

namespace refrain::replay {

struct RegionSummary {
  void add_inside(const RegionSummary& other) noexcept {
    submissions += other.submissions;
    replayed += other.replayed;
  }

  std::uint32_t id = 0, parent = 0;  ///< env::Region's; 0: none
  std::string name;                  ///< with those around it: "step/forward"
  std::uint64_t entered = 0;
  std::uint64_t submissions = 0;  ///< those of regions inside it, too, as below
  std::uint64_t replayed = 0;     ///< what is launched later than it was submitted counts where it is launched
};

/// Of all lanes of an engine. Thread-safe.
class RegionTotals {
 public:
  /// What came in it alone. Nothing is counted where there is no memory.
  void add(const env::Region& region, bool entered, std::uint64_t submissions, std::uint64_t replayed) noexcept;
  /// All that another one has. Nothing is added where there is no memory.
  void add_all(const RegionTotals& other) noexcept;
  /// Those that came, each behind what is around it. May throw std::bad_alloc.
  [[nodiscard]] std::vector<RegionSummary> summaries() const;

 private:
  struct Row {
    void operator+=(const Row& other) noexcept {
      region = other.region;
      entered += other.entered;
      submissions += other.submissions;
      replayed += other.replayed;
    }

    const env::Region* region = nullptr;
    std::uint64_t entered = 0, submissions = 0, replayed = 0;
  };

  void add(const Row& row) noexcept REFRAIN_REQUIRES(mutex_);
  /// May throw std::bad_alloc.
  [[nodiscard]] std::vector<Row> rows() const;

  mutable env::Mutex mutex_;
  std::vector<Row> rows_ REFRAIN_GUARDED_BY(mutex_);  ///< by Region::id
};

}  // namespace refrain::replay
