#include "backends/streams/named_memory.h"

#include <algorithm>
#include <chrono>

namespace refrain::backends {
namespace {
constexpr std::chrono::milliseconds kPatience{20};
}  // namespace

bool NamedMemory::is_gone(const std::vector<Allocation>& allocations) const noexcept {
  const auto gone = [this](const Allocation& allocation) {
    const auto same = [&](const Allocation& freed) {
      return freed.start == allocation.start && freed.id == allocation.id;
    };
    return std::find(going_.begin(), going_.end(), allocation.start) != going_.end() ||
           std::any_of(freed_in_order_.begin(), freed_in_order_.end(), same);
  };
  return (going_any_ != 0 && !allocations.empty()) || std::any_of(allocations.begin(), allocations.end(), gone);
}

bool NamedMemory::is_named(std::uint64_t start) const noexcept {
  return std::any_of(named_.begin(), named_.end(),
                     [start](const Allocation& named) { return start == kAny || start == named.start; });
}

NamedMemory::Going NamedMemory::goes(std::uint64_t start) noexcept {
  std::unique_lock lock(mutex_);
  changed();
  if (start != kAny) {
    try {
      going_.push_back(start);
    } catch (...) {
      start = kAny;
    }
  }
  going_any_ += start == kAny ? 1 : 0;
  if (is_named(start)) {
    recorded_.wait_for(lock, kPatience, [&] { return !is_named(start); });
  }
  return {this, start};
}

NamedMemory::Going::~Going() {
  if (owner_ == nullptr) {
    return;
  }
  const std::lock_guard guard(owner_->mutex_);
  if (start_ == kAny) {
    --owner_->going_any_;
  } else {
    std::vector<std::uint64_t>& going = owner_->going_;
    going.erase(std::find(going.begin(), going.end(), start_));
  }
}

void NamedMemory::freed_in_order(const Allocation& allocation) noexcept {
  const std::lock_guard guard(mutex_);
  try {
    if (freed_in_order_.size() == kMostRemembered) {  // what was freed so long ago is in no graph still to be recorded
      freed_in_order_.erase(freed_in_order_.begin(), freed_in_order_.begin() + kMostRemembered / 2);
    }
    freed_in_order_.push_back(allocation);
  } catch (...) {
    // Out of memory: the driver refuses what it can.
  }
}

void NamedMemory::allocated(std::uint64_t start) noexcept {
  const std::lock_guard guard(mutex_);
  std::erase_if(freed_in_order_, [start](const Allocation& freed) { return freed.start == start; });
}

void NamedMemory::Recording::end() noexcept {
  if (owner_ == nullptr) {
    return;
  }
  NamedMemory& owner = *std::exchange(owner_, nullptr);
  const std::lock_guard guard(owner.mutex_);
  owner.named_.clear();
  owner.recorded_.notify_all();
}

}  // namespace refrain::backends
