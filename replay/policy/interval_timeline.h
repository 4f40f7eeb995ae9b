// When the sync intervals of a lane ran, and how. Only kept where the setting `timeline` asks for it.
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

#include "env/mutex.h"

namespace refrain::replay {

/// One interval. Times are of now_ns().
struct IntervalRun {
  enum class How : std::uint8_t {
    kNew = 0,        ///< nothing is known of such an interval yet
    kEager = 1,      ///< without graphs, to be compared
    kTrial = 2,      ///< with the graphs that there are, to be compared
    kConcluded = 3,  ///< graphs are known to pay
  };
  std::uint64_t begin_ns = 0;    ///< its first submission
  std::uint64_t waiting_ns = 0;  ///< the program waits from here on
  std::uint64_t end_ns = 0;
  std::uint32_t submissions = 0;
  std::uint32_t in_graphs = 0;  ///< of these
  How how = How::kNew;
};

/// What a report tells of a lane.
struct LaneRuns {
  std::uint64_t lane = 0;
  std::vector<IntervalRun> runs;
  std::uint64_t left_out = 0;  ///< later ones
};

/// Of one lane. Thread-safe: any thread makes reports.
class IntervalTimeline {
 public:
  /// `most`: runs that are kept, the first ones.
  explicit IntervalTimeline(std::uint64_t most) noexcept : most_(most) {}

  void add(const IntervalRun& run) noexcept {
    const env::MutexLock guard(mutex_);
    try {
      if (told_.runs.size() < most_) {
        told_.runs.push_back(run);
        return;
      }
    } catch (const std::exception&) {  // no memory
      most_ = told_.runs.size();
    }
    ++told_.left_out;
  }
  /// May throw std::bad_alloc.
  [[nodiscard]] LaneRuns told(std::uint64_t lane) const {
    const env::MutexLock guard(mutex_);
    LaneRuns copy = told_;
    copy.lane = lane;
    return copy;
  }

 private:
  mutable env::Mutex mutex_;
  std::uint64_t most_ REFRAIN_GUARDED_BY(mutex_);
  LaneRuns told_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::replay
