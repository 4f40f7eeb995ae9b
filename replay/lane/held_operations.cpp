#include "replay/lane/held_operations.h"

#include <algorithm>
#include <cstring>

#include "replay/lane/inside.h"

namespace refrain::replay {

using capture::OperationView;

namespace {

// limit: beyond this the front of the held bytes, already submitted, is cut off.
constexpr std::size_t kCompactAfter = 4096;

}  // namespace

[[gnu::hot]] bool HeldOperations::try_claim(QueueSlot& queue, Lane* lane) {
  queues_.reserve(queues_.size() + 1);
  Lane* nobody = nullptr;
  if (!queue.holder.compare_exchange_strong(nobody, lane, std::memory_order_acq_rel)) {
    return false;
  }
  queues_.push_back(&queue);
  if (queue.info.default_order == capture::DefaultOrder::kIsDefault) {
    front_.engine->held_defaults.fetch_add(1, std::memory_order_seq_cst);
  }
  return true;
}

[[gnu::hot]] void HeldOperations::release_queues() noexcept {
  for (QueueSlot* queue : queues_) {
    if (queue->info.default_order == capture::DefaultOrder::kIsDefault) {
      front_.engine->held_defaults.fetch_sub(1, std::memory_order_release);
    }
    queue->holder.store(nullptr, std::memory_order_release);
  }
  queues_.clear();
}

const capture::QueueInfo& HeldOperations::queue_of(const OperationView& operation) const noexcept {
  for (const QueueSlot* queue : queues_) {
    if (queue->info.id == operation.header().queue) {
      return queue->info;
    }
  }
  return queues_.front()->info;
}

[[gnu::hot]] void HeldOperations::make_room() {
  if (offsets_.size() == offsets_.capacity()) [[unlikely]] {
    constexpr std::size_t kFirst = 64;  // limit
    offsets_.reserve(std::max(2 * offsets_.size(), kFirst));
  }
}

/// Half a record may lie behind the last complete one.
void HeldOperations::drop_incomplete() {
  bytes_.resize(offsets_.empty() ? 0 : offsets_.back() + OperationView(bytes_.data() + offsets_.back()).header().size);
}

[[gnu::hot]] void HeldOperations::add(const OperationView& operation, std::uint64_t sequence) {
  const auto record = operation.bytes();
  const std::size_t offset = bytes_.size();
  bytes_.resize(offset + record.size());
  std::memcpy(bytes_.data() + offset, record.data(), record.size());
  auto& header = *reinterpret_cast<capture::OperationHeader*>(bytes_.data() + offset);
  header.sequence = sequence;
  header.time_ns = time_ns_;
  header.promise = 0;
  header.host_ns = 0;
  offsets_.push_back(offset);
}

[[gnu::hot]] bool HeldOperations::pop(std::uint32_t count) {
  head_ += count;
  if (size() == 0) {
    bytes_.clear();
    offsets_.clear();
    head_ = 0;
    return true;
  }
  if (head_ >= kCompactAfter) {
    const std::size_t cut = offsets_[head_];
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(cut));
    offsets_.erase(offsets_.begin(), offsets_.begin() + static_cast<std::ptrdiff_t>(head_));
    for (std::size_t& offset : offsets_) {
      offset -= cut;
    }
    head_ = 0;
  }
  return false;
}

[[gnu::hot]] bool HeldOperations::has_room(const Room& room) const noexcept {
  return bytes_.capacity() - bytes_.size() >= room.bytes && offsets_.capacity() - offsets_.size() >= room.operations &&
         queues_.capacity() >= room.queues;
}

void HeldOperations::make_room(const Room& room) {
  bytes_.reserve(bytes_.size() + room.bytes);
  offsets_.reserve(offsets_.size() + room.operations);
  queues_.reserve(room.queues);
}

[[gnu::hot]] void HeldOperations::publish() {
  const std::size_t left = size();
  const bool held_before = count() != 0;
  if (left != 0) {
    const capture::OperationHeader& oldest = operation(0).header();
    if (!held_before) {
      begin(oldest.sequence, oldest.time_ns, static_cast<std::uint32_t>(left));
      return;
    }
    first_.store(oldest.sequence, std::memory_order_relaxed);
    since_ns_.store(oldest.time_ns, std::memory_order_relaxed);
    front_.held.store(static_cast<std::uint32_t>(left), std::memory_order_relaxed);
    return;
  }
  for (const auto& [release, handle] : deferred_) {
    const Inside guard;
    release(handle);
  }
  deferred_.clear();
  release_queues();
  if (held_before) {
    front_.engine->held_lanes.fetch_sub(1, std::memory_order_release);
  }
  front_.held.store(0, std::memory_order_release);
}

[[gnu::hot]] void HeldOperations::begin(std::uint64_t first, std::uint64_t since_ns, std::uint32_t count) noexcept {
  first_.store(first, std::memory_order_relaxed);
  since_ns_.store(since_ns, std::memory_order_relaxed);
  front_.engine->held_lanes.fetch_add(1, std::memory_order_seq_cst);
  // Who sees the first one sees all of it through the lock: only this store must not be late.
  front_.held.store(count, std::memory_order_seq_cst);
  context_.watchdog.arm();
}

bool HeldOperations::release_later(void (*release)(capture::Handle), capture::Handle handle) {
  if (!any()) {
    return false;
  }
  const HasLaneLock guard(front_.lock);
  if (count() == 0) {
    return false;
  }
  deferred_.emplace_back(release, handle);
  return true;
}

}  // namespace refrain::replay
