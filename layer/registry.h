// Which of our records belongs to a native handle. Reads take no lock and allocate nothing; making and
// forgetting an object takes one.
//
// Records are recycled but never given back to the system, so that a reader that races with the
// release of an object (an error of the application) reads a stale record, not freed memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "env/mutex.h"

namespace refrain::layer {

/// `T` needs `std::atomic<std::uint64_t> handle`, `T* next_free` and `void reset()`. Whoever kept a record, and finds
/// its handle again with an acquiring load, sees the object that has the handle now.
template <class T>
class Registry {
 public:
  constexpr Registry() noexcept = default;
  /// Only for registries that end, as in tests: the layer's own live as long as the process.
  ~Registry() {
    for (const Table* table = table_.load(std::memory_order_relaxed); table != nullptr;) {
      delete std::exchange(table, table->older);
    }
    while (chunks_ != nullptr) {
      delete std::exchange(chunks_, chunks_->next);
    }
  }
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// The record of `handle`, or null. Lock-free. Any value may be asked for.
  [[nodiscard]] T* find(std::uint64_t handle) const noexcept {
    const Table* table = table_.load(std::memory_order_acquire);
    if (table == nullptr || handle <= kGone) {
      return nullptr;
    }
    const std::uint32_t limit = table->longest_probe.load(std::memory_order_relaxed);
    std::uint64_t place = hash(handle) >> table->shift;
    for (std::uint32_t probe = 0; probe <= limit; ++probe) {
      const Slot& slot = table->slots[place];
      const std::uint64_t key = slot.key.load(std::memory_order_acquire);
      if (key == handle) {
        T* record = slot.value.load(std::memory_order_relaxed);
        return record != nullptr && record->handle.load(std::memory_order_relaxed) == handle ? record : nullptr;
      }
      if (key == kEmpty) {
        return nullptr;
      }
      place = (place + 1) & table->mask;
    }
    return nullptr;
  }

  /// False if no object ever had a handle near this value: the quick answer for numbers, which are not
  /// handles at all. Two loads.
  [[nodiscard]] bool may_contain(std::uint64_t value) const noexcept {
    const std::uint64_t lowest = lowest_.load(std::memory_order_relaxed);  // once: it may change
    return value - lowest <= highest_.load(std::memory_order_relaxed) - lowest;
  }

  /// A blank record that is not in the table yet. Null if there is no memory.
  [[nodiscard]] T* make() noexcept {
    const env::MutexLock guard(mutex_);
    return make_locked();
  }
  /// Puts a record into the table under `handle`. An older record of that handle (its release was not
  /// seen) is replaced. False if there is no memory.
  bool insert(T* record, std::uint64_t handle) noexcept {
    const env::MutexLock guard(mutex_);
    return insert_locked(record, handle);
  }
  /// Takes a record out of the table; it stays valid until recycle().
  void erase(T* record) noexcept {
    const env::MutexLock guard(mutex_);
    erase_locked(record);
  }
  /// Gives a record that is not in the table back for later objects.
  void recycle(T* record) noexcept {
    const env::MutexLock guard(mutex_);
    record->reset();
    record->next_free = free_;
    free_ = record;
  }
  /// Runs `use(record)` while the record of `handle` cannot be erased. False if there is none.
  template <class Use>
  bool with(std::uint64_t handle, Use&& use) noexcept {
    const env::MutexLock guard(mutex_);
    T* record = find(handle);
    return record != nullptr && use(*record);
  }
  /// Takes an older record of this handle out of the table, as insert() does: for an object that is not kept.
  void erase_stale(std::uint64_t handle) noexcept {
    if (find(handle) != nullptr) [[unlikely]] {
      const env::MutexLock guard(mutex_);
      erase_stale_locked(handle);
    }
  }
  /// Objects in the table, for tests and reports.
  [[nodiscard]] std::size_t size() const noexcept {
    const env::MutexLock guard(mutex_);
    return live_;
  }
  /// Places that a search does not end at, for tests: of objects, and of some that were there.
  [[nodiscard]] std::size_t taken_places() const noexcept {
    const env::MutexLock guard(mutex_);
    const Table* table = table_.load(std::memory_order_relaxed);
    std::size_t taken = 0;
    for (std::uint64_t place = 0; table != nullptr && place <= table->mask; ++place) {
      taken += table->slots[place].key.load(std::memory_order_relaxed) != kEmpty ? 1 : 0;
    }
    return taken;
  }

 private:
  static constexpr std::uint64_t kEmpty = 0;
  static constexpr std::uint64_t kGone = 1;
  static constexpr std::uint32_t kFirstBits = 8;
  static constexpr std::size_t kChunk = 64;

  struct Slot {
    std::atomic<std::uint64_t> key{kEmpty};
    std::atomic<T*> value{nullptr};
  };
  struct Table {
    explicit Table(std::uint32_t bits) : shift(64 - bits), mask((1ULL << bits) - 1), slots(new Slot[mask + 1]) {}
    std::uint32_t shift;
    std::uint64_t mask;
    std::atomic<std::uint32_t> longest_probe{0};
    std::unique_ptr<Slot[]> slots;
    Table* older = nullptr;  // readers may still be in it; half as large, so keeping it costs little
  };

  static std::uint64_t hash(std::uint64_t handle) noexcept { return handle * 0x9E3779B97F4A7C15ULL; }

  T* make_locked() noexcept REFRAIN_REQUIRES(mutex_) {
    if (free_ == nullptr) {
      auto* chunk = new (std::nothrow) Chunk;
      if (chunk == nullptr) {
        return nullptr;
      }
      chunk->next = chunks_;
      chunks_ = chunk;
      for (T& record : chunk->records) {
        record.next_free = free_;
        free_ = &record;
      }
    }
    T* record = free_;
    free_ = record->next_free;
    record->next_free = nullptr;
    return record;
  }

  static void place_in(Table& table, T* record, std::uint64_t handle) noexcept {
    std::uint64_t place = hash(handle) >> table.shift;
    std::uint32_t probe = 0;
    while (table.slots[place].key.load(std::memory_order_relaxed) > kGone) {
      place = (place + 1) & table.mask;
      ++probe;
    }
    if (probe > table.longest_probe.load(std::memory_order_relaxed)) {
      table.longest_probe.store(probe, std::memory_order_relaxed);
    }
    table.slots[place].value.store(record, std::memory_order_relaxed);
    table.slots[place].key.store(handle, std::memory_order_release);
  }

  /// Whether a search for an object behind this place comes past it.
  static bool is_passed(const Table& table, std::uint64_t place) noexcept {
    const std::uint32_t limit = table.longest_probe.load(std::memory_order_relaxed);
    for (std::uint64_t beyond = 1; beyond <= limit; ++beyond) {
      const std::uint64_t at = (place + beyond) & table.mask;
      const std::uint64_t key = table.slots[at].key.load(std::memory_order_relaxed);
      if (key == kEmpty) {
        return false;
      }
      if (key != kGone && ((at - (hash(key) >> table.shift)) & table.mask) >= beyond) {
        return true;
      }
    }
    return false;
  }

  /// Gone places end a search if nothing behind them is found past them: else searches for what is not there would
  /// become as long as the longest ever was. Readers that are past them already find what they look for.
  static void empty_gone(Table& table, std::uint64_t place) noexcept {
    while (table.slots[place].key.load(std::memory_order_relaxed) == kGone && !is_passed(table, place)) {
      table.slots[place].key.store(kEmpty, std::memory_order_release);
      place = (place - 1) & table.mask;
    }
  }

  void erase_stale_locked(std::uint64_t handle) noexcept REFRAIN_REQUIRES(mutex_) {
    if (T* stale = find(handle); stale != nullptr) {
      erase_locked(stale);
    }
  }

  bool insert_locked(T* record, std::uint64_t handle) noexcept REFRAIN_REQUIRES(mutex_) {
    if (handle <= kGone) {
      return false;
    }
    erase_stale_locked(handle);
    Table* table = table_.load(std::memory_order_relaxed);
    if (table == nullptr || (live_ + 1) * 2 > table->mask + 1) {
      table = grow(table);
      if (table == nullptr) {
        return false;
      }
    }
    record->handle.store(handle, std::memory_order_release);
    lowest_.store(std::min(lowest_.load(std::memory_order_relaxed), handle), std::memory_order_relaxed);
    highest_.store(std::max(highest_.load(std::memory_order_relaxed), handle), std::memory_order_relaxed);
    place_in(*table, record, handle);
    ++live_;
    return true;
  }

  void erase_locked(T* record) noexcept REFRAIN_REQUIRES(mutex_) {
    const std::uint64_t handle = record->handle.load(std::memory_order_relaxed);
    Table* table = table_.load(std::memory_order_relaxed);
    if (table == nullptr || handle <= kGone) {
      return;
    }
    std::uint64_t place = hash(handle) >> table->shift;
    const std::uint32_t limit = table->longest_probe.load(std::memory_order_relaxed);
    for (std::uint32_t probe = 0; probe <= limit; ++probe) {
      Slot& slot = table->slots[place];
      if (slot.key.load(std::memory_order_relaxed) == handle && slot.value.load(std::memory_order_relaxed) == record) {
        slot.key.store(kGone, std::memory_order_release);
        slot.value.store(nullptr, std::memory_order_relaxed);
        --live_;
        empty_gone(*table, place);
        return;
      }
      place = (place + 1) & table->mask;
    }
  }

  Table* grow(Table* old) noexcept REFRAIN_REQUIRES(mutex_) {
    try {
      const std::uint32_t bits = old == nullptr ? kFirstBits : 64 - old->shift + 1;
      auto table = std::make_unique<Table>(bits);
      if (old != nullptr) {
        for (std::uint64_t i = 0; i <= old->mask; ++i) {
          const std::uint64_t key = old->slots[i].key.load(std::memory_order_relaxed);
          if (key > kGone) {
            place_in(*table, old->slots[i].value.load(std::memory_order_relaxed), key);
          }
        }
      }
      table->older = old;
      Table* published = table.release();
      table_.store(published, std::memory_order_release);
      return published;
    } catch (...) {
      return nullptr;
    }
  }

  struct Chunk {
    T records[kChunk];
    Chunk* next = nullptr;
  };

  mutable env::Mutex mutex_;
  std::atomic<Table*> table_{nullptr};
  Chunk* chunks_ REFRAIN_GUARDED_BY(mutex_) = nullptr;
  T* free_ REFRAIN_GUARDED_BY(mutex_) = nullptr;
  std::size_t live_ REFRAIN_GUARDED_BY(mutex_) = 0;
  /// Range of all handles ever in the table; empty at first.
  std::atomic<std::uint64_t> lowest_{~std::uint64_t{0}};
  std::atomic<std::uint64_t> highest_{0};
};

}  // namespace refrain::layer
