// The operations that a lane holds: their records, the queues they go to, and since when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "capture/operation.h"
#include "replay/lane/lane_context.h"
#include "replay/lane/lane_front.h"
#include "replay/queue_slot.h"

namespace refrain::replay {

/// Everything is for who has the right to what is held (see HeldRight), except where any thread is named. That nothing
/// is held is published last: from then on the lane's own thread works without the lock.
class HeldOperations {
 public:
  HeldOperations(LaneFront& front, LaneContext& context) noexcept : front_(front), context_(context) {}
  HeldOperations(const HeldOperations&) = delete;
  HeldOperations& operator=(const HeldOperations&) = delete;

  // Any thread:
  [[nodiscard]] LaneLock& lock() const noexcept { return front_.lock; }
  /// Includes those that were accepted as predicted and are no records yet.
  [[nodiscard]] std::uint32_t count() const noexcept { return front_.held.load(std::memory_order_relaxed); }
  /// Whether another thread may be at work here. Who is told that none is sees all that the last one did.
  [[nodiscard]] bool any() const noexcept { return front_.held.load(std::memory_order_acquire) != 0; }
  /// Whether the submission of this number is held; ~0 whenever anything is.
  [[nodiscard]] bool contains(std::uint64_t sequence) const noexcept {
    return count() != 0 && sequence >= first_.load(std::memory_order_relaxed);
  }
  /// The number behind the newest one that is held; 0: none is.
  [[nodiscard]] std::uint64_t end() const noexcept {
    const std::uint32_t held = count();
    return held == 0 ? 0 : first_.load(std::memory_order_relaxed) + held;
  }
  /// Since when anything is held, see now_ns(); 0: nothing is.
  [[nodiscard]] std::uint64_t since_ns() const noexcept {
    return front_.held.load(std::memory_order_seq_cst) == 0 ? 0 : since_ns_.load(std::memory_order_relaxed);
  }

  /// Work for the queue may be held from now on. False if another lane holds some for it. May throw std::bad_alloc.
  [[nodiscard]] bool claim(QueueSlot& queue, Lane* lane) REFRAIN_REQUIRES(held_right) {
    return queue.holder.load(std::memory_order_relaxed) == lane || try_claim(queue, lane);
  }
  [[nodiscard]] const std::vector<QueueSlot*>& queues() const noexcept REFRAIN_REQUIRES(held_right) { return queues_; }
  /// The queue that the operation goes to.
  [[nodiscard]] const capture::QueueInfo& queue_of(const capture::OperationView& operation) const noexcept
      REFRAIN_REQUIRES(held_right);
  /// None is held for any more.
  void release_queues() noexcept REFRAIN_REQUIRES(held_right);

  /// A new record behind all others: make_room() first, so that nothing can go wrong once it is written, and keep() or
  /// drop_incomplete() then.
  void make_room() REFRAIN_REQUIRES(held_right);
  [[nodiscard]] capture::OperationWriter write() noexcept REFRAIN_REQUIRES(held_right) {
    newest_ = bytes_.size();
    return capture::OperationWriter(bytes_);
  }
  [[nodiscard]] std::byte* newest() noexcept REFRAIN_REQUIRES(held_right) { return bytes_.data() + newest_; }
  void keep() REFRAIN_REQUIRES(held_right) { offsets_.push_back(newest_); }
  void drop_incomplete() REFRAIN_REQUIRES(held_right);
  /// The same for a copy of a record.
  void add(const capture::OperationView& operation, std::uint64_t sequence) REFRAIN_REQUIRES(held_right);

  /// Records there are, and the one so many behind the oldest.
  [[nodiscard]] std::size_t size() const noexcept REFRAIN_REQUIRES(held_right) { return offsets_.size() - head_; }
  [[nodiscard]] capture::OperationView operation(std::size_t index) const noexcept REFRAIN_REQUIRES(held_right) {
    return capture::OperationView(bytes_.data() + offsets_[head_ + index]);
  }
  /// The oldest ones were submitted. True if no record is left.
  bool pop(std::uint32_t count) REFRAIN_REQUIRES(held_right);

  /// So much can be added without memory being asked for.
  struct Room {
    std::size_t bytes, operations, queues;
  };
  [[nodiscard]] bool has_room(const Room& room) const noexcept REFRAIN_REQUIRES(held_right);
  void make_room(const Room& room) REFRAIN_REQUIRES(held_right);

  /// Ends every change of the records: tells other threads what is held now.
  void publish() REFRAIN_REQUIRES(held_right);
  /// One more, behind others.
  void count_one_more() noexcept REFRAIN_REQUIRES(held_right) {
    front_.held.store(count() + 1, std::memory_order_relaxed);
  }
  /// The first ones of what is held from now on.
  void begin(std::uint64_t first, std::uint64_t since_ns, std::uint32_t count) noexcept REFRAIN_REQUIRES(held_right);

  /// The time of the newest operation whose time was taken, for those that take none: see now_ns().
  [[nodiscard]] std::uint64_t time_ns() const noexcept REFRAIN_REQUIRES(held_right) { return time_ns_; }
  void set_time(std::uint64_t ns) noexcept REFRAIN_REQUIRES(held_right) { time_ns_ = ns; }

  /// Runs `release(handle)` when nothing is held any more. False: that is now. Throws std::bad_alloc.
  [[nodiscard]] bool release_later(void (*release)(capture::Handle), capture::Handle handle)
      REFRAIN_EXCLUDES(held_right);

  /// The first error of held work is told by the next call that can tell one.
  void note_error(int error) noexcept REFRAIN_REQUIRES(held_right) { error_ = error_ == 0 ? error : error_; }
  [[nodiscard]] int take_error() noexcept REFRAIN_REQUIRES(held_right) { return std::exchange(error_, 0); }

 private:
  [[nodiscard]] bool try_claim(QueueSlot& queue, Lane* lane) REFRAIN_REQUIRES(held_right);

  LaneFront& front_;
  LaneContext& context_;
  capture::RecordBytes bytes_ REFRAIN_GUARDED_BY(held_right);  ///< nothing but the records, one behind the other
  std::vector<std::size_t> offsets_ REFRAIN_GUARDED_BY(held_right);
  std::size_t head_ REFRAIN_GUARDED_BY(held_right) = 0;    ///< index of the oldest one in offsets_
  std::size_t newest_ REFRAIN_GUARDED_BY(held_right) = 0;  ///< offset of the record that is being written
  std::vector<QueueSlot*> queues_ REFRAIN_GUARDED_BY(held_right);
  std::atomic<std::uint64_t> first_{0};
  std::atomic<std::uint64_t> since_ns_{0};
  std::uint64_t time_ns_ REFRAIN_GUARDED_BY(held_right) = 0;
  int error_ REFRAIN_GUARDED_BY(held_right) = 0;
  std::vector<std::pair<void (*)(capture::Handle), capture::Handle>> deferred_ REFRAIN_GUARDED_BY(held_right);
};

}  // namespace refrain::replay
