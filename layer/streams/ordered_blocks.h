// Which of the program's memory was allocated in stream order: see ordered_memory.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "env/mutex.h"
#include "layer/common/object_id.h"
#include "layer/immortal.h"

namespace refrain::layer::streams {

/// What is known of the program's allocations in stream order. Thread-safe.
class OrderedBlocks {
 public:
  struct Block {
    std::uint64_t bytes = 0;
    std::uint64_t pool = 0;  ///< its handle; 0: the one that is current for the stream's device
    ObjectId stream = 0;     ///< in which it was allocated
    bool held = false;       ///< it is freed, but the driver was not told yet
  };
  /// False: without memory for that, its free is one of memory that is not known.
  bool add(std::uint64_t start, const Block& block) noexcept {
    try {
      const env::MutexLock guard(mutex_);
      blocks_[start] = block;
      any_.store(true, std::memory_order_relaxed);
      return true;
    } catch (...) {
      return false;
    }
  }
  /// None that is freed.
  [[nodiscard]] std::optional<Block> find(std::uint64_t start) const noexcept {
    const env::MutexLock guard(mutex_);
    const auto found = blocks_.find(start);
    return found == blocks_.end() || found->second.held ? std::nullopt : std::optional(found->second);
  }
  void set_held(std::uint64_t start, bool held) noexcept {
    const env::MutexLock guard(mutex_);
    if (const auto found = blocks_.find(start); found != blocks_.end()) {
      held_ += held ? 1 : -1;
      found->second.held = held;
    }
  }
  /// What the address lies in: it is freed, or its free is to be left to the driver. (Its thread, or who told it,
  /// allocated it: whoever sees that there is none need not look.)
  void forget(std::uint64_t address) noexcept {
    if (any_.load(std::memory_order_relaxed)) {
      const env::MutexLock guard(mutex_);
      if (const auto found = around(address); found != blocks_.end()) {
        held_ -= found->second.held ? 1 : 0;
        blocks_.erase(found);
      }
    }
  }
  /// Of those that are not freed.
  void forget_all() noexcept {
    if (any_.load(std::memory_order_relaxed)) {
      const env::MutexLock guard(mutex_);
      std::erase_if(blocks_, [](const auto& block) { return !block.second.held; });
    }
  }
  /// Whether the driver may say of this address that it is allocated, when for the program it is not.
  [[nodiscard]] bool is_held(std::uint64_t address) noexcept {
    if (held_.load(std::memory_order_relaxed) == 0) {
      return false;
    }
    const env::MutexLock guard(mutex_);
    const auto found = around(address);
    return found != blocks_.end() && found->second.held;
  }

 private:
  using Blocks = std::map<std::uint64_t, Block>;
  [[nodiscard]] Blocks::iterator around(std::uint64_t address) noexcept REFRAIN_REQUIRES(mutex_) {
    const auto next = blocks_.upper_bound(address);
    const bool inside = next != blocks_.begin() && address - std::prev(next)->first < std::prev(next)->second.bytes;
    return inside ? std::prev(next) : blocks_.end();
  }

  std::atomic<bool> any_{false};
  std::atomic<std::int64_t> held_{0};
  mutable env::Mutex mutex_;  ///< nothing is called meanwhile
  Blocks blocks_ REFRAIN_GUARDED_BY(mutex_);
};

/// Of the process.
template <class L>
OrderedBlocks& ordered_blocks() noexcept {
  static Immortal<OrderedBlocks> all;
  return *all;
}

}  // namespace refrain::layer::streams
