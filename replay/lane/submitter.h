// Gives the driver what a lane holds: as graphs, or one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "capture/operation.h"
#include "replay/detect/matcher.h"
#include "replay/graph/graph_entry.h"
#include "replay/graph/submit.h"
#include "replay/lane/chunk_graphs.h"
#include "replay/lane/driver_gate.h"
#include "replay/lane/held_operations.h"
#include "replay/lane/lane_context.h"
#include "replay/lane/lane_counters.h"
#include "replay/policy/chunk_tuner.h"
#include "replay/policy/interval_trial.h"

namespace refrain::replay {

/// For who has the right to what is held (see HeldRight). Driver errors go to HeldOperations::note_error(). May throw
/// std::bad_alloc: what the driver has by then is held no more.
class Submitter {
 public:
  Submitter(LaneContext& context, HeldOperations& held, ChunkGraphs& graphs, DriverGate& gate, IntervalTrial& intervals,
            const ChunkTuner& tuner, LaneCounters& counters) noexcept
      : context_(context),
        held_(held),
        graphs_(graphs),
        gate_(gate),
        intervals_(intervals),
        tuner_(tuner),
        counters_(counters) {}

  /// Does what the matcher says with the oldest operations.
  void apply(const Action& action) REFRAIN_REQUIRES(held_right);
  /// All of them, one by one.
  void issue_all() REFRAIN_REQUIRES(held_right);
  /// The same after a failure, for what comes.
  void issue_rest() noexcept REFRAIN_REQUIRES(held_right);

  /// Launches a chunk of which it is known that it has the arguments of `occurrence`. `operations`: as of
  /// GraphEntry::launch_predicted(). Nothing is taken from what is held.
  [[nodiscard]] GraphLaunch launch_predicted(GraphEntry& entry, const Occurrence& occurrence,
                                             std::span<const capture::OperationView> operations)
      REFRAIN_REQUIRES(held_right);
  /// That one was launched, and the oldest `count` of what is held were in it.
  void launched(const std::shared_ptr<GraphEntry>& entry, const GraphLaunch& launch, std::size_t count)
      REFRAIN_REQUIRES(held_right);

 private:
  [[nodiscard]] bool launch(const Action& action) REFRAIN_REQUIRES(held_right);
  [[nodiscard]] bool launch(const std::shared_ptr<GraphEntry>& entry) REFRAIN_REQUIRES(held_right);
  [[nodiscard]] bool launch_verified(const std::shared_ptr<GraphEntry>& entry) REFRAIN_REQUIRES(held_right);
  void issue() REFRAIN_REQUIRES(held_right);
  void count_replayed(std::size_t operations, std::size_t native) noexcept REFRAIN_REQUIRES(held_right);
  void count_unchecked(const char* why) REFRAIN_REQUIRES(held_right);
  void count_launch(const std::shared_ptr<GraphEntry>& entry, const GraphLaunch& launch) REFRAIN_REQUIRES(held_right);
  void pop(std::size_t count) REFRAIN_REQUIRES(held_right);
  [[nodiscard]] SubmitContext submit_context() noexcept REFRAIN_REQUIRES(held_right) {
    return {context_.backend, context_.hooks, window_};
  }

  /// In verify mode: whether a graph's replay is to be compared, by its number.
  [[nodiscard]] auto is_due() const noexcept {
    return [this](std::uint64_t number) { return context_.sampling->due(number); };
  }

  LaneContext& context_;
  HeldOperations& held_;
  ChunkGraphs& graphs_;
  DriverGate& gate_;
  IntervalTrial& intervals_;
  const ChunkTuner& tuner_;
  LaneCounters& counters_;
  std::vector<capture::OperationView> views_ REFRAIN_GUARDED_BY(held_right);  ///< of what is being submitted
  WindowEvents window_ REFRAIN_GUARDED_BY(held_right);
};

}  // namespace refrain::replay
