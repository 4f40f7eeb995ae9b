// What memory a program has from its driver: every allocation, by whichever call, until it is freed.
//
// Kept by the layer of an API whose kernels use memory by address, where somebody asks for it: captures with contents,
// and verify mode.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "capture/definitions.h"
#include "env/mutex.h"
#include "env/stuck_check.h"

namespace refrain::backends {

/// Why the work of such a kernel is not compared: it would be run twice.
inline constexpr const char* kPrintsOrAllocates = "a kernel prints, or allocates memory, which cannot be put back";

struct LiveMemory {
  std::uint64_t start = 0, bytes = 0;
  std::uint64_t id = 0;  ///< never given again, unlike the address
  int device = 0;        ///< as the API numbers it
  capture::MemoryPlace place = capture::MemoryPlace::kDevice;

  [[nodiscard]] bool contains(std::uint64_t address) const noexcept { return address - start < bytes; }
  bool operator==(const LiveMemory&) const = default;
};

/// Thread-safe. Ranges never overlap: what is added replaces what was there.
class MemoryInventory {
 public:
  /// To be called when the driver has made it. If there is no memory for the record, complete() is false from then on.
  void add(const LiveMemory& memory) noexcept;
  /// Before the driver frees it: the allocation that starts there, if it is known.
  void remove(std::uint64_t start) noexcept;
  /// Where it is not known what a call freed: keeps what is still there.
  void keep_if(const std::function<bool(const LiveMemory&)>& is_there) noexcept;

  /// From hold() until let_go() nobody removes anything: who is about to free memory waits, and so does who else would
  /// hold it. For a check, which comes to its end whatever the program does. False: not held, somebody frees memory.
  /// `by`: of the thread that calls the driver meanwhile. Should that never return, nobody waits any more.
  [[nodiscard]] bool hold(env::StuckCheck* by = nullptr) noexcept;
  void let_go() noexcept;
  /// Returns when nobody holds it.
  void wait_while_held() noexcept;
  /// Around a call that frees nobody knows what until it has returned. Several threads may be between the two.
  void begin_freeing() noexcept;
  void end_freeing() noexcept;

  /// There may be memory that kernels write and nobody can compare. The first reason counts; static lifetime.
  void cannot_compare(const char* why) noexcept { why_not_.store(why, std::memory_order_relaxed); }
  [[nodiscard]] const char* why_not() const noexcept { return why_not_.load(std::memory_order_relaxed); }

  /// Memory that is there and that nobody asked for yet: who compares calls find_rest() before all(), with the context
  /// current, and the layer that keeps the inventory adds it. May throw std::bad_alloc. Before anything is compared.
  void find_rest_with(void (*rest)()) noexcept { add_rest_ = rest; }
  void find_rest() const {
    if (add_rest_ != nullptr) {
      add_rest_();
    }
  }

  /// What the address lies in.
  [[nodiscard]] std::optional<LiveMemory> find(std::uint64_t address) const noexcept;
  /// By address. May throw std::bad_alloc.
  [[nodiscard]] std::vector<LiveMemory> all() const;
  /// Counts what was added and removed.
  [[nodiscard]] std::uint64_t changes() const noexcept;
  [[nodiscard]] bool complete() const noexcept;

 private:
  void wait_until_let_go(env::UniqueLock& guard) noexcept REFRAIN_REQUIRES(mutex_);
  void remove_locked(std::uint64_t start, std::uint64_t bytes) noexcept REFRAIN_REQUIRES(mutex_);

  std::atomic<const char*> why_not_{nullptr};
  void (*add_rest_)() = nullptr;
  mutable env::Mutex mutex_;
  env::ConditionVariable let_go_;
  bool held_ REFRAIN_GUARDED_BY(mutex_) = false;
  env::StuckCheck* held_by_ REFRAIN_GUARDED_BY(mutex_) = nullptr;
  int freeing_ REFRAIN_GUARDED_BY(mutex_) = 0;                             ///< threads
  std::map<std::uint64_t, LiveMemory> memory_ REFRAIN_GUARDED_BY(mutex_);  ///< by start
  std::uint64_t changes_ REFRAIN_GUARDED_BY(mutex_) = 0;
  bool complete_ REFRAIN_GUARDED_BY(mutex_) = true;
};

/// While it lives nobody frees what is in the inventory; false if somebody does.
class InventoryHeld {
 public:
  explicit InventoryHeld(MemoryInventory* inventory, env::StuckCheck* by = nullptr) noexcept
      : inventory_(inventory != nullptr && inventory->hold(by) ? inventory : nullptr) {}
  ~InventoryHeld() {
    if (inventory_ != nullptr) {
      inventory_->let_go();
    }
  }
  InventoryHeld(const InventoryHeld&) = delete;
  InventoryHeld& operator=(const InventoryHeld&) = delete;

  explicit operator bool() const noexcept { return inventory_ != nullptr; }
  const MemoryInventory* operator->() const noexcept { return inventory_; }

 private:
  MemoryInventory* const inventory_;
};

}  // namespace refrain::backends
