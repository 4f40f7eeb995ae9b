#include "backends/streams/named_memory.h"

#include <algorithm>
#include <chrono>

namespace refrain::backends {
namespace {
// The recording thread has the lowest priority, on a machine that may have no processor for it for long.
constexpr std::chrono::milliseconds kPatience{500};
// What is allocated is freed as late as that, for a recording that waits for it.
constexpr std::chrono::milliseconds kLook{5};
// So often who waits for memory sees that somebody waits for the end of that.
constexpr std::chrono::microseconds kSlice{250};
}  // namespace

bool NamedMemory::is_gone(const std::vector<Allocation>& allocations) const noexcept {
  const auto gone = [this](const Allocation& allocation) REFRAIN_REQUIRES(mutex_) {
    const auto among = [&](const auto& freed) {
      const auto found = freed.find(allocation.start);
      return found != freed.end() && (found->second == 0 || found->second == allocation.id);
    };
    return std::find(going_.begin(), going_.end(), allocation.start) != going_.end() || among(freed_) ||
           among(freed_before_);
  };
  return (going_any_ != 0 && !allocations.empty()) || std::any_of(allocations.begin(), allocations.end(), gone);
}

bool NamedMemory::is_named(std::uint64_t start) const noexcept {
  return std::any_of(named_.begin(), named_.end(),
                     [start](const Allocation& named) { return start == kAny || start == named.start; });
}

NamedMemory::Going NamedMemory::goes(std::uint64_t start) noexcept {
  env::UniqueLock lock(mutex_);
  changed();
  const bool alone = maker_.stuck();
  if (!alone) {
    looked_.wait_for(lock, kLook, [&]() REFRAIN_REQUIRES(mutex_) { return !is_to_look_; });
  }
  if (start != kAny) {
    try {
      going_.push_back(start);
    } catch (...) {
      start = kAny;
    }
  }
  going_any_ += start == kAny ? 1 : 0;
  if (!alone && is_named(start)) {
    const Waiting waiting(*this);
    if (!recorded_.wait_for(lock, kPatience, [&]() REFRAIN_REQUIRES(mutex_) { return !is_named(start); })) {
      gone_meanwhile_.store(true, std::memory_order_release);
    }
  }
  return {this, start};
}

NamedMemory::Going::~Going() {
  if (owner_ == nullptr) {
    return;
  }
  const env::MutexLock guard(owner_->mutex_);
  if (start_ == kAny) {
    --owner_->going_any_;
  } else {
    std::vector<std::uint64_t>& going = owner_->going_;
    going.erase(std::find(going.begin(), going.end(), start_));
  }
}

void NamedMemory::freed_in_order(std::uint64_t start, std::uint64_t id) noexcept {
  const env::MutexLock guard(mutex_);
  try {
    if (freed_.size() == kRemembered) {  // what was freed longer ago is in no graph still to be recorded
      freed_before_.swap(freed_);
      freed_.clear();
    }
    freed_[start] = id;
    any_freed_.store(true, std::memory_order_relaxed);
  } catch (...) {
    // Out of memory: the driver refuses what it can.
  }
}

void NamedMemory::allocated(std::uint64_t start) noexcept {
  // Whoever allocates it has seen the free: by its own thread, or by whatever told it.
  if (any_freed_.load(std::memory_order_relaxed) || looking_.load(std::memory_order_relaxed) != 0) {
    const env::MutexLock guard(mutex_);
    freed_.erase(start);
    freed_before_.erase(start);
    if (looking_.load(std::memory_order_relaxed) != 0) {
      looked(true);
    }
  }
}

NamedMemory::Looking::~Looking() {
  if (--owner_.looking_ == 0) {
    const env::MutexLock guard(owner_.mutex_);
    owner_.looked(false);
  }
}

void NamedMemory::looked(bool is_to) noexcept {
  is_to_look_ = is_to;
  (is_to ? allocated_ : looked_).notify_all();
}

/// True when something was allocated.
bool NamedMemory::wait_for_memory(env::UniqueLock& lock, std::chrono::steady_clock::time_point until) {
  // Who frees memory waits for recordings that name it, and this one names none yet.
  while (!is_to_look_ && !(recordings_ != 0 && awaited()) && std::chrono::steady_clock::now() < until) {
    allocated_.wait_for(lock, kSlice);
  }
  return is_to_look_;
}

void NamedMemory::Recording::end() noexcept {
  if (owner_ == nullptr) {
    return;
  }
  NamedMemory& owner = *std::exchange(owner_, nullptr);
  const env::MutexLock guard(owner.mutex_);
  if (--owner.recordings_ == 0) {
    owner.named_.clear();
    owner.gone_meanwhile_.store(false, std::memory_order_relaxed);
    owner.recorded_.notify_all();
  }
}

}  // namespace refrain::backends
