// The first cache line of a lane: all that a predicted submission needs, so that it finds one line of its own and no
// more where the program's code has emptied the processor's caches.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "replay/lane/lane_lock.h"

namespace refrain::replay {

class EngineState;
class DeferredSubmission;

/// A standard-layout structure that entry points written in assembly look at; who owns each member is said beside it.
struct alignas(64) LaneFront {
  explicit LaneFront(EngineState& its_engine) noexcept : engine(&its_engine) {}

  /// Prediction's: the record of the submission that is predicted; null: none is. Written with the lock held, by the
  /// lane's own thread or, while something is held, by any.
  std::atomic<const std::byte*> predicted{nullptr};
  /// Prediction's: of the records of what is predicted.
  const std::byte* predicted_end REFRAIN_GUARDED_BY(held_right) = nullptr;
  std::uint64_t sequence = 0;  ///< the lane's own thread's: number of the newest submission
  /// Prediction's: number of the next submission that needs more than being accepted.
  std::uint64_t next_sample REFRAIN_GUARDED_BY(held_right) = 0;
  LaneLock lock;                       ///< HeldOperations': guards all that is held while anything is
  std::atomic<std::uint32_t> held{0};  ///< HeldOperations': how many operations
  /// Prediction's: of these, those that are no records yet.
  std::uint32_t accepted REFRAIN_GUARDED_BY(held_right) = 0;
  EngineState* engine;
  DeferredSubmission* deferred = nullptr;  ///< DeferredSubmissions': null: every submission is looked at when it comes
};

// Offsets that assembly uses.
#define REFRAIN_LANE_PREDICTED "0"
#define REFRAIN_LANE_DEFERRED "56"
static_assert(offsetof(LaneFront, predicted) == 0 && offsetof(LaneFront, deferred) == 56);
static_assert(sizeof(LaneFront) == 64);

}  // namespace refrain::replay
