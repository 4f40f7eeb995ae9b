// What addresses belong to, and calls that take memory away.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backends/streams/named_memory.h"
#include "layer/streams/host_call.h"
#include "layer/streams/inventory.h"
#include "layer/streams/ordered_blocks.h"
#include "layer/streams/submission.h"

namespace refrain::layer::streams {

/// One side of a copy, or the target of a fill.
struct Place {
  capture::ArgumentKind kind = capture::ArgumentKind::kHostPointer;  ///< kPointer: memory of the driver's, all of it
  backends::MemoryType type = backends::MemoryType::kNone;           ///< none: pageable
  std::uint64_t id = 0;                                              ///< of the allocation
  int device = 0;
  bool known = false;  ///< the driver knows the address
};

/// Asks the driver. What reaches beyond one allocation is left to the driver as well: not kPointer.
template <class L>
Place place_of(std::uint64_t address, std::size_t bytes) noexcept {
  Place place;
  backends::Allocation found;
  if (L::Api::find_allocation(L::runtime().driver, address, &found)) {
    place.known = true;
    place.type = found.type;
    place.device = found.device;
    if (address >= found.start && bytes <= found.bytes && address - found.start <= found.bytes - bytes) {
      place.kind = capture::ArgumentKind::kPointer;
      place.id = found.id;
    }
  }
  return place;
}

/// A cache from addresses to allocations, invalid as soon as any memory is freed. That is enough for fills: one into
/// memory that was freed in a way Refrain cannot see is an error of the program. Thread-safe, without a lock.
class KnownPlaces {
 public:
  /// 0: not known.
  [[nodiscard]] std::uint64_t find(std::uint64_t address, std::size_t bytes, std::uint64_t changes) const noexcept {
    const Entry& entry = entries_[index_of(address)];
    const std::uint64_t id = entry.id.load(std::memory_order_relaxed);
    return entry.check.load(std::memory_order_relaxed) == check_of(address, bytes, changes, id) ? id : 0;
  }
  void keep(std::uint64_t address, std::size_t bytes, std::uint64_t changes, std::uint64_t id) noexcept {
    Entry& entry = entries_[index_of(address)];
    entry.id.store(id, std::memory_order_relaxed);
    entry.check.store(check_of(address, bytes, changes, id), std::memory_order_relaxed);
  }

 private:
  /// Two threads may write at once: the check is of both numbers.
  struct Entry {
    std::atomic<std::uint64_t> id{0}, check{0};
  };
  static std::size_t index_of(std::uint64_t address) noexcept { return capture::mix(0, address) % kEntries; }
  static std::uint64_t check_of(std::uint64_t address, std::size_t bytes, std::uint64_t changes,
                                std::uint64_t id) noexcept {
    return capture::mix(capture::mix(capture::mix(capture::mix(1, address), bytes), changes), id);
  }

  static constexpr std::size_t kEntries = 256;
  std::array<Entry, kEntries> entries_;
};

/// What a fill writes. Only `kind` and `id` are told.
template <class L>
Place filled_place(std::uint64_t address, std::size_t bytes) noexcept {
  static constinit KnownPlaces known;  // nothing to destroy: threads submit while the process exits
  const std::uint64_t changes = L::runtime().backend->memory().changes();
  Place place;
  place.id = known.find(address, bytes, changes);
  if (place.id != 0) {
    place.kind = capture::ArgumentKind::kPointer;
    return place;
  }
  place = place_of<L>(address, bytes);
  if (place.id != 0) {
    known.keep(address, bytes, changes, place.id);
  }
  return place;
}

/// free_memory(), as far as graphs are concerned.
template <class L, class Free>
StatusOf<L> free_named_memory(const replay::EntryPoint& entry_point, std::uint64_t start, Free&& call) {
  HostCall<L> host_call(entry_point);
  if (engine_with_threads<L>() == nullptr) {  // in a child, say, where locks may be taken for ever
    return host_call.done(call(), false);
  }
  const auto going = L::runtime().backend->memory().goes(start);
  // Behind the flush: none of it is freed and held.
  start == backends::NamedMemory::kAny ? ordered_blocks<L>().forget_all() : ordered_blocks<L>().forget(start);
  return host_call.done(call(), false);
}

/// The host call that takes the allocation at `start` away (NamedMemory::kAny: whichever).
template <class L, class Free>
StatusOf<L> free_memory(const replay::EntryPoint& entry_point, std::uint64_t start, Free&& call) {
  if (start == backends::NamedMemory::kAny) {
    const Freeing<L> during;
    return free_named_memory<L>(entry_point, start, call);
  }
  forget_memory<L>(start);
  const StatusOf<L> status = free_named_memory<L>(entry_point, start, call);
  if (status != L::Api::kSuccess) {
    note_memory<L>(L::Api::kSuccess, start);  // it still is there
  }
  return status;
}

/// Around the driver's call of a free in stream order. `id` of the allocation: see NamedMemory::freed_in_order().
template <class L, class Free>
StatusOf<L> freeing_in_order(std::uint64_t start, std::uint64_t id, Free&& call) noexcept {
  forget_memory<L>(start);
  if (engine_with_threads<L>() == nullptr) {
    return call();
  }
  backends::NamedMemory& memory = L::runtime().backend->memory();
  const auto going = memory.goes(start);
  // Before the call: once the driver has it, another thread may get the address at once.
  memory.freed_in_order(start, id);
  const StatusOf<L> status = call();
  if (status != L::Api::kSuccess) {
    memory.allocated(start);  // it still is
  }
  return status;
}

/// After an allocation in stream order.
template <class L>
void allocated_in_order(StatusOf<L> status, std::uint64_t start) noexcept {
  note_memory<L>(status, start);
  if (status == L::Api::kSuccess && engine_with_threads<L>() != nullptr) {
    L::runtime().backend->memory().allocated(start);
  }
}

}  // namespace refrain::layer::streams
