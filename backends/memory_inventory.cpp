#include "backends/memory_inventory.h"

#include <iterator>

namespace refrain::backends {

void MemoryInventory::add(const LiveMemory& memory) noexcept {
  if (memory.bytes == 0) {
    return;
  }
  const env::MutexLock guard(mutex_);
  if (const auto known = memory_.find(memory.start); known != memory_.end() && known->second == memory) {
    return;
  }
  ++changes_;
  remove_locked(memory.start, memory.bytes);
  try {
    memory_.emplace(memory.start, memory);
  } catch (...) {
    complete_ = false;
  }
}

void MemoryInventory::wait_until_let_go(env::UniqueLock& guard) noexcept {
  while (held_ && (held_by_ == nullptr || !held_by_->stuck())) {
    if (held_by_ == nullptr) {
      let_go_.wait(guard);
    } else {
      let_go_.wait_for(guard, env::StuckCheck::kAsk);
    }
  }
}

bool MemoryInventory::hold(env::StuckCheck* by) noexcept {
  env::UniqueLock guard(mutex_);
  wait_until_let_go(guard);
  // Not waited for: what the driver waits for may be up to who holds.
  held_ = freeing_ == 0;
  held_by_ = by;
  return held_;
}

void MemoryInventory::wait_while_held() noexcept {
  env::UniqueLock guard(mutex_);
  wait_until_let_go(guard);
}

void MemoryInventory::begin_freeing() noexcept {
  env::UniqueLock guard(mutex_);
  wait_until_let_go(guard);
  ++freeing_;
}

void MemoryInventory::end_freeing() noexcept {
  const env::MutexLock guard(mutex_);
  --freeing_;
}

void MemoryInventory::let_go() noexcept {
  const env::MutexLock guard(mutex_);
  held_ = false;
  let_go_.notify_all();
}

void MemoryInventory::remove(std::uint64_t start) noexcept {
  env::UniqueLock guard(mutex_);
  wait_until_let_go(guard);
  changes_ += memory_.erase(start);
}

void MemoryInventory::remove_locked(std::uint64_t start, std::uint64_t bytes) noexcept {
  auto first = memory_.lower_bound(start);
  if (first != memory_.begin() && std::prev(first)->second.contains(start)) {
    --first;
  }
  auto end = first;
  while (end != memory_.end() && (end->first < start || end->first - start < bytes)) {
    ++end;
  }
  memory_.erase(first, end);
}

void MemoryInventory::keep_if(const std::function<bool(const LiveMemory&)>& is_there) noexcept {
  env::UniqueLock guard(mutex_);
  wait_until_let_go(guard);
  changes_ += std::erase_if(memory_, [&](const auto& each) { return !is_there(each.second); });
}

std::optional<LiveMemory> MemoryInventory::find(std::uint64_t address) const noexcept {
  const env::MutexLock guard(mutex_);
  const auto after = memory_.upper_bound(address);
  if (after == memory_.begin() || !std::prev(after)->second.contains(address)) {
    return std::nullopt;
  }
  return std::prev(after)->second;
}

std::vector<LiveMemory> MemoryInventory::all() const {
  const env::MutexLock guard(mutex_);
  std::vector<LiveMemory> result;
  result.reserve(memory_.size());
  for (const auto& [start, memory] : memory_) {
    result.push_back(memory);
  }
  return result;
}

std::uint64_t MemoryInventory::changes() const noexcept {
  const env::MutexLock guard(mutex_);
  return changes_;
}

bool MemoryInventory::complete() const noexcept {
  const env::MutexLock guard(mutex_);
  return complete_;
}

}  // namespace refrain::backends
