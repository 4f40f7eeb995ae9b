// When the sync intervals of a lane ran, and how, and how long its chunks were to be meanwhile. Only kept where the
// setting `timeline` asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "env/mutex.h"
#include "replay/detect/chunk.h"

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
  std::uint32_t submissions = 0;  ///< those that are in neither of the next two were eager
  std::uint32_t in_graphs = 0;    ///< of these
  std::uint32_t held_issued = 0;  ///< of these: held, but issued one by one in the end
  std::uint32_t launches = 0;     ///< of graphs
  How how = How::kNew;
};

/// What a lane has held so far, and what became of it.
struct HeldCounts {
  std::uint64_t in_graphs = 0, held_issued = 0;  ///< submissions
  std::uint64_t launches = 0;                    ///< of graphs
};

/// How long chunks are to be from some time on.
struct ChunkChange {
  enum class Why : std::uint8_t {
    kStart,     ///< before anything is known
    kProfile,   ///< an earlier run has found it out
    kPace,      ///< the program's times are known, or have changed
    kNew,       ///< nothing is known of the interval that comes
    kTrial,     ///< to be compared
    kChosen,    ///< the fastest in the interval that comes
    kHandedOn,  ///< the thread never waits, but hands its queue on
  };
  std::uint64_t at_ns = 0;  ///< see now_ns()
  std::uint32_t plan = 0;
  ChunkLengths lengths;
  Why why = Why::kStart;
};

/// What a report tells of a lane.
struct LaneRuns {
  std::uint64_t lane = 0;
  std::vector<IntervalRun> runs;
  std::uint64_t left_out = 0;  ///< later ones
  std::uint64_t hold_ns = 0;   ///< what holding one operation usually takes, as far as is known now
  std::vector<ChunkChange> chunks;
  std::uint64_t chunks_left_out = 0;  ///< later changes
};

/// Of one lane, for its own thread.
class IntervalTimeline {
 public:
  /// `most`: runs that are kept, the first ones.
  explicit IntervalTimeline(std::uint64_t most) noexcept : most_(most) {}

  /// `counts`: now. What the last interval's end, or skip(), was not told of yet is this interval's.
  void add(IntervalRun run, const HeldCounts& counts) noexcept {
    run.in_graphs = static_cast<std::uint32_t>(counts.in_graphs - before_.in_graphs);
    run.held_issued = static_cast<std::uint32_t>(counts.held_issued - before_.held_issued);
    run.launches = static_cast<std::uint32_t>(counts.launches - before_.launches);
    before_ = counts;
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
  /// These are the lengths of chunks now; they may be the same as before.
  void chunks(const ChunkChange& now) noexcept {
    constexpr std::size_t kMostChanges = 256;  // limit
    if (now.plan == chunks_.plan && now.lengths == chunks_.lengths) {
      return;
    }
    chunks_ = now;
    const env::MutexLock guard(mutex_);
    try {
      if (told_.chunks.size() < kMostChanges) {
        told_.chunks.push_back(now);
        return;
      }
    } catch (const std::exception&) {  // no memory
    }
    ++told_.chunks_left_out;
  }
  /// An interval is given up: what was counted in it is no other one's.
  void skip(const HeldCounts& counts) noexcept { before_ = counts; }
  /// Any thread. May throw std::bad_alloc.
  [[nodiscard]] LaneRuns told(std::uint64_t lane) const {
    const env::MutexLock guard(mutex_);
    LaneRuns copy = told_;
    copy.lane = lane;
    return copy;
  }

 private:
  HeldCounts before_;                          ///< when the newest interval began
  ChunkChange chunks_{.lengths = kNoLengths};  ///< the newest
  mutable env::Mutex mutex_;
  std::uint64_t most_ REFRAIN_GUARDED_BY(mutex_);
  LaneRuns told_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::replay
