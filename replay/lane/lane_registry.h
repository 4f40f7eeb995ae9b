// The lanes of all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "env/mutex.h"
#include "replay/lane/lane.h"
#include "replay/lane/lane_context.h"
#include "replay/queue_slot.h"
#include "replay/report/report.h"

namespace refrain::replay {

/// Thread-safe.
class LaneRegistry {
 public:
  /// Throws std::runtime_error if no thread's end can be noticed, or std::bad_alloc.
  explicit LaneRegistry(LaneContext& context);
  ~LaneRegistry();
  LaneRegistry(const LaneRegistry&) = delete;
  LaneRegistry& operator=(const LaneRegistry&) = delete;

  /// Gives the calling thread a lane: on first use one whose thread ended, or a new one. Once everything passes
  /// through, one that all such threads share.
  Lane& open() noexcept;
  /// The calling thread's lane goes (called when a thread ends).
  void close() noexcept;

  /// Flushes the lane that holds work for the queue, if it still is `holder`, which may be gone.
  void flush_holder(const Lane* holder, const QueueSlot& queue) noexcept REFRAIN_EXCLUDES(held_right);
  /// Flushes the lane of this number, if it still holds its submission `sequence`.
  void flush_lane(std::uint64_t number, std::uint64_t sequence) noexcept REFRAIN_EXCLUDES(held_right);
  /// Flushes all, but the calling thread's if `others`.
  void flush_all(bool others) noexcept REFRAIN_EXCLUDES(held_right);
  /// Flushes those that hold something since then or before, and, if `rests`, those that hold what they held when that
  /// was asked last. Returns since when anything is held still; 0: nothing is.
  std::uint64_t flush_older(std::uint64_t oldest_ns, bool rests) noexcept REFRAIN_EXCLUDES(held_right);

  /// What all lanes have seen, those included that are gone. May throw std::bad_alloc.
  [[nodiscard]] ReportData report() const;

 private:
  void count_open() noexcept REFRAIN_REQUIRES(mutex_);

  LaneContext& context_;
  mutable env::Mutex mutex_;
  std::vector<Lane*> lanes_ REFRAIN_GUARDED_BY(mutex_);
  std::vector<Lane*> idle_ REFRAIN_GUARDED_BY(mutex_);  ///< of these, the ones whose threads ended
  std::unique_ptr<Lane> passing_;  ///< of threads that have none, once everything passes through; nothing is in it
  std::uint64_t numbers_ REFRAIN_GUARDED_BY(mutex_) = 0;
  ReportData closed_ REFRAIN_GUARDED_BY(mutex_);  ///< totals of lanes that are gone
};

}  // namespace refrain::replay
