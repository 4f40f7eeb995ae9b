// Which of the program's regions a lane's thread is in.
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/recorder.h"
#include "env/region.h"
#include "replay/lane/lane_counters.h"
#include "replay/report/region_totals.h"

namespace refrain::replay {

/// What comes between two changes of the region is counted for the first of the two. For the lane's own thread.
class LaneRegion {
 public:
  /// `totals`, and `stream` if there is a capture, outlive it.
  LaneRegion(RegionTotals& totals, capture::Stream* stream) noexcept : totals_(totals), stream_(stream) {}
  LaneRegion(const LaneRegion&) = delete;
  LaneRegion& operator=(const LaneRegion&) = delete;

  /// `submissions`: the lane's so far.
  void enter(const env::Region* region, std::uint64_t submissions, const LaneCounters& counters) noexcept {
    count(submissions, counters.replayed.get());
    const env::Region* const before = region_.load(std::memory_order_relaxed);
    region_.store(region, std::memory_order_relaxed);
    if (region != nullptr && region->parent == before) {
      totals_.add(*region, true, 0, 0);
    }
    if (stream_ != nullptr) {
      stream_->region(region);
    }
  }

  /// For the report, from any thread: what was not counted yet.
  void add_rest(RegionTotals& totals, const LaneCounters& counters) const noexcept {
    const env::Region* const region = region_.load(std::memory_order_relaxed);
    const std::uint64_t submissions = counters.submissions.get();
    const std::uint64_t replayed = counters.replayed.get();
    if (region != nullptr && submissions >= submissions_.get() && replayed >= replayed_.get()) {
      totals.add(*region, false, submissions - submissions_.get(), replayed - replayed_.get());
    }
  }

 private:
  void count(std::uint64_t submissions, std::uint64_t replayed) noexcept {
    if (const env::Region* const region = region_.load(std::memory_order_relaxed); region != nullptr) {
      totals_.add(*region, false, submissions - submissions_.get(), replayed - replayed_.get());
    }
    submissions_.add(submissions - submissions_.get());
    replayed_.add(replayed - replayed_.get());
  }

  RegionTotals& totals_;
  capture::Stream* const stream_;
  std::atomic<const env::Region*> region_{nullptr};
  Counter submissions_, replayed_;  ///< of the lane, when it entered that
};

}  // namespace refrain::replay
