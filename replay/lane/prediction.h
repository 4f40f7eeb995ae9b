// What a lane's program submits next, as far as that is known beforehand. A submission that is exactly the one that was
// predicted is accepted: it is held without being looked at. When the chunk is complete it is launched, and the next
// one is predicted. The matcher is told of all of them together as soon as anything else happens: until then it is
// behind.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "capture/operation.h"
#include "replay/detect/matcher.h"
#include "replay/graph/executable.h"
#include "replay/graph/graph_entry.h"
#include "replay/lane/chunk_graphs.h"
#include "replay/lane/held_operations.h"
#include "replay/lane/lane_counters.h"
#include "replay/lane/lane_front.h"
#include "replay/lane/submitter.h"
#include "replay/policy/chunk_tuner.h"
#include "replay/policy/dormancy.h"
#include "replay/policy/interval_trial.h"

namespace refrain::replay {

/// Writes other values into the record of an operation. Refers to what it is made of, and must not throw.
class Change {
 public:
  template <class Write>
  explicit Change(const Write& write) noexcept
      : write_(&write),
        call_([](const void* what, std::byte* record) { (*static_cast<const Write*>(what))(record); }) {}
  void write(std::byte* record) const { call_(write_, record); }

 private:
  const void* write_;
  void (*call_)(const void*, std::byte*);
};

/// For the lane's own thread, except where another one is named; nothing throws. Its first member is the lane's first
/// cache line.
class Prediction {
 public:
  struct Parts {
    LaneContext& context;
    Lane* lane;
    HeldOperations& held;
    Matcher& matcher;
    ChunkGraphs& graphs;
    Submitter& submitter;
    IntervalTrial& intervals;
    ChunkTuner& tuner;
    Dormancy& dormancy;
    LaneCounters& counters;
  };
  /// All parts must outlive it, and may be made after it. `possible`: anything may be predicted in this mode.
  Prediction(const Parts& parts, bool possible) noexcept;
  Prediction(const Prediction&) = delete;
  Prediction& operator=(const Prediction&) = delete;

  [[nodiscard]] LaneFront& front() noexcept { return front_; }
  [[nodiscard]] const LaneFront& front() const noexcept { return front_; }

  /// The record of what is predicted; null: nothing is.
  [[nodiscard]] capture::OperationView next() const noexcept {
    return capture::OperationView(front_.predicted.load(std::memory_order_relaxed));
  }
  /// The same, and fetches what comparing with it and accept() look at, all at once: where the program did much since
  /// the last submission, the caches have little of it, and one miss would wait for the other.
  [[nodiscard, gnu::always_inline]] capture::OperationView fetch_next() const noexcept {
    const std::byte* const record = front_.predicted.load(std::memory_order_relaxed);
    if (record != nullptr) [[likely]] {
      __builtin_prefetch(record + kLine);
      __builtin_prefetch(record + 2 * kLine);
      __builtin_prefetch(record + 3 * kLine);
      __builtin_prefetch(front_.engine);
    }
    return capture::OperationView(record);
  }
  /// See Lane::hold_predicted(); `change` may be null.
  bool accept(int* error, const Change* change) noexcept REFRAIN_EXCLUDES(held_right);
  /// Another one has come.
  void mispredicted() noexcept REFRAIN_EXCLUDES(held_right);

  /// When an operation was held: predicts the rest of its chunk, if that is possible.
  void predict_rest() noexcept REFRAIN_REQUIRES(held_right);
  /// At the end of a stretch, when nothing is held: predicts the chunk with which the next one begins.
  void predict_first() noexcept REFRAIN_EXCLUDES(held_right);
  /// While nothing is held, and the matcher is not behind: predicts nothing.
  void clear() noexcept { front_.predicted.store(nullptr, std::memory_order_relaxed); }
  /// Predicts nothing any more; what was accepted becomes records, and the matcher is told of it and of what was
  /// launched. Any thread that has the right to what is held.
  void drain() noexcept REFRAIN_REQUIRES(held_right) {
    if (front_.predicted.load(std::memory_order_relaxed) != nullptr) {
      drain_all();
    }
  }

 private:
  static constexpr std::size_t kLine = 64;  ///< format: of the processor's caches
  /// Beside what other threads hold something may be held that nobody has looked at. (Nobody else holds anything for
  /// the same queues.)
  enum class CrossThreadHold : std::uint8_t {
    kNo,
    kFromAllButDefaults,  ///< some of its queues come after what is held for a default queue
    kFromAll,
  };
  /// A chunk that was launched, from its operation `first` on: what the matcher has not been told yet.
  struct LaunchedChunk {
    std::shared_ptr<GraphEntry> entry;
    std::size_t first = 0;
  };
  /// An accepted operation with other values: which one, and where its record is in changed_bytes_.
  struct Changed {
    std::uint32_t number = 0;
    std::size_t offset = 0;
  };

  [[nodiscard]] static CrossThreadHold cross_thread_hold(std::span<QueueSlot* const> queues) noexcept;
  [[nodiscard]] bool may_hold_beside() const noexcept;
  [[nodiscard]] bool begin(const Change* change) noexcept REFRAIN_REQUIRES(held_right);
  [[nodiscard]] bool begin_chunk() noexcept REFRAIN_REQUIRES(held_right);
  [[nodiscard]] bool note_change(const Change& change) noexcept REFRAIN_REQUIRES(held_right);
  void forget_changes() noexcept REFRAIN_REQUIRES(held_right) {
    changed_.clear();
    changed_bytes_.clear();
  }
  [[nodiscard]] std::uint64_t begin_sample() noexcept REFRAIN_REQUIRES(held_right);
  void end_sample(std::uint64_t started_ns) noexcept REFRAIN_REQUIRES(held_right);
  [[nodiscard]] std::uint64_t next_sample() const noexcept REFRAIN_REQUIRES(held_right);

  bool predict(const Holding& holding, std::span<QueueSlot* const> queues) noexcept REFRAIN_REQUIRES(held_right);
  bool predict_next() noexcept REFRAIN_REQUIRES(held_right);
  [[nodiscard]] bool make_room(const HeldOperations::Room& room) noexcept REFRAIN_REQUIRES(held_right);

  int complete() noexcept REFRAIN_REQUIRES(held_right);
  [[nodiscard]] bool launch() noexcept REFRAIN_REQUIRES(held_right);
  [[nodiscard]] bool view(std::size_t older) REFRAIN_REQUIRES(held_right);
  void drain_all() noexcept REFRAIN_REQUIRES(held_right);
  void feed_launched() REFRAIN_REQUIRES(held_right);
  void feed_accepted(std::uint32_t count) REFRAIN_REQUIRES(held_right);
  /// The records of those that were accepted, one after the other.
  template <class Use>
  void for_each_accepted(std::uint32_t count, Use&& use) const REFRAIN_REQUIRES(held_right);

  LaneFront front_;
  LaneContext& context_;
  Lane* const lane_;
  HeldOperations& held_;
  Matcher& matcher_;
  ChunkGraphs& graphs_;
  Submitter& submitter_;
  IntervalTrial& intervals_;
  ChunkTuner& tuner_;
  Dormancy& dormancy_;
  LaneCounters& counters_;
  const bool possible_;

  bool met_ REFRAIN_GUARDED_BY(held_right) = false;           ///< something of what was predicted last came
  CrossThreadHold cross_thread_hold_ = CrossThreadHold::kNo;  ///< that which is predicted
  ChunkId chunk_ REFRAIN_GUARDED_BY(held_right) = kNoChunk;   ///< all of it
  std::uint32_t misses_ REFRAIN_GUARDED_BY(held_right) = 0;   ///< in a row
  std::uint32_t pause_ = 0;                                   ///< submissions before anything is predicted again
  std::shared_ptr<const Occurrence> occurrence_ REFRAIN_GUARDED_BY(held_right);  ///< what next() points into
  std::vector<LaunchedChunk> launched_ REFRAIN_GUARDED_BY(held_right);           ///< only while something is predicted
  std::size_t behind_ REFRAIN_GUARDED_BY(held_right) = 0;                        ///< how many operations that are
  std::vector<QueueSlot*> queues_ REFRAIN_GUARDED_BY(held_right);  ///< of what was held last, while nothing is held
  std::uint64_t gone_ REFRAIN_GUARDED_BY(held_right) = 0;          ///< EngineState::gone when it was predicted
  /// Of those that were accepted and are no records yet.
  const std::byte* first_ REFRAIN_GUARDED_BY(held_right) = nullptr;
  std::uint64_t first_sequence_ REFRAIN_GUARDED_BY(held_right) = 0;           ///< its number
  std::vector<Changed> changed_ REFRAIN_GUARDED_BY(held_right);               ///< of them
  capture::RecordBytes changed_bytes_ REFRAIN_GUARDED_BY(held_right);         ///< their records
  std::vector<capture::OperationView> views_ REFRAIN_GUARDED_BY(held_right);  ///< reused
};

}  // namespace refrain::replay
