// What a lane knows of the graphs of its chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "replay/detect/matcher.h"
#include "replay/graph/graph_entry.h"
#include "replay/lane/lane_context.h"
#include "replay/lane/lane_lock.h"
#include "replay/lane/occurrence_recorder.h"
#include "replay/policy/trial_budget.h"
#include "replay/queue_slot.h"

namespace refrain::replay {

/// The entry of each chunk that the lane has asked for, which tells the matcher when it becomes ready; and what is
/// recorded of a stretch, while it is issued eagerly, for a graph to be built of it. For who has
/// the right to what is held (see HeldRight), or the lane's own thread. May throw std::bad_alloc where nothing else is
/// said.
class ChunkGraphs {
 public:
  ChunkGraphs(LaneContext& context, Matcher& matcher) noexcept
      : context_(context), matcher_(matcher), trials_(context.budget) {}
  ~ChunkGraphs();
  ChunkGraphs(const ChunkGraphs&) = delete;
  ChunkGraphs& operator=(const ChunkGraphs&) = delete;

  /// The chunk's entry, asked for if need be. Null if there can be none. `queue`: one that the chunk's work goes to.
  const std::shared_ptr<GraphEntry>& entry(ChunkId chunk, const QueueSlot& queue) REFRAIN_REQUIRES(held_right);
  /// The same, if the lane knows it already; null if not.
  [[nodiscard]] const std::shared_ptr<GraphEntry>& known(ChunkId chunk) const noexcept REFRAIN_REQUIRES(held_right) {
    return chunk < entries_.size() ? entries_[chunk] : none_;
  }

  /// An operation of a chunk that is looked at was issued, which took `host_ns`. When the last one was, the entry is
  /// told, and asks for a graph perhaps. `hold_cost_ns`: what looking at one costs.
  void issued(const Following& place, const capture::OperationView& operation, const QueueSlot& queue,
              std::uint32_t host_ns, std::uint64_t hold_cost_ns) REFRAIN_REQUIRES(held_right);
  /// What comes next does not follow what was issued.
  void stretch_broken() noexcept { occurrences_.abort(); }
  /// A further graph, for the arguments of what was just launched.
  void request_variant(const std::shared_ptr<GraphEntry>& entry, std::span<const capture::OperationView> operations,
                       std::span<QueueSlot* const> queues) REFRAIN_REQUIRES(held_right);

  /// Graphs that are ready are not used while `suspended`.
  void suspend(bool suspended) REFRAIN_REQUIRES(held_right);
  /// Forgets the entries of chunks that the matcher has forgotten, whose ids may be others' from now on; and those that
  /// have gone from the cache, now and then.
  void forget_gone() REFRAIN_REQUIRES(held_right);

  /// The thread has ended, or another one goes on.
  void pause() noexcept { trials_.pause(); }
  void resume() noexcept { trials_.resume(); }

 private:
  void request(const std::shared_ptr<GraphEntry>& entry, const Occurrence& occurrence);
  void complete(ChunkId chunk, const QueueSlot& queue, std::uint64_t hold_cost_ns) REFRAIN_REQUIRES(held_right);
  void forget(ChunkId chunk) noexcept REFRAIN_REQUIRES(held_right);

  LaneContext& context_;
  Matcher& matcher_;
  std::vector<std::shared_ptr<GraphEntry>> entries_ REFRAIN_GUARDED_BY(held_right);  ///< by ChunkId
  const std::shared_ptr<GraphEntry> none_;
  /// GraphCache::entries_gone() when those were last looked for.
  std::uint64_t entries_gone_ REFRAIN_GUARDED_BY(held_right) = 0;
  OccurrenceRecorder occurrences_;
  std::vector<capture::OperationView> views_;  ///< reused
  TrialShare trials_;
};

}  // namespace refrain::replay
