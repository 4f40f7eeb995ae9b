#include "layer/level_zero/mapped_memory.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/level_zero/inventory.h"
#include "layer/level_zero/runtime.h"

namespace refrain::layer::level_zero {
namespace {

constexpr const char* kNoMemory = "the host had no memory for the list of the program's memory";
constexpr const char* kPart = "part of a range that was mapped as one is treated otherwise than the rest";

struct Range {
  std::size_t bytes = 0;
  ze_context_handle_t context = nullptr;
  ze_device_handle_t device = nullptr;
  bool in_inventory = false;
};

struct Tables {
  env::Mutex mutex;
  std::unordered_map<ze_physical_mem_handle_t, ze_device_handle_t> physical REFRAIN_GUARDED_BY(mutex);
  std::map<std::uint64_t, Range> mapped REFRAIN_GUARDED_BY(mutex);  ///< by start
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

void set_access(std::uint64_t start, Range& range, bool writable) noexcept {
  if (range.in_inventory == writable) {
    return;
  }
  range.in_inventory = writable;
  const void* const address = reinterpret_cast<const void*>(start);
  if (writable) {
    note_memory(range.context, range.device, capture::MemoryPlace::kDevice, address, range.bytes);
  } else {
    const Freeing freeing(address);
  }
}

/// `change(start, range)` for what was mapped within these bytes; false: drop it from the table.
template <class Change>
void for_each_within(const void* start, std::size_t bytes, Change&& change) noexcept {
  const auto first = reinterpret_cast<std::uint64_t>(start);
  const env::MutexLock guard(tables().mutex);
  auto& mapped = tables().mapped;
  auto each = mapped.lower_bound(first);
  if (each != mapped.begin()) {
    const auto& [before, range] = *std::prev(each);
    if (first - before < range.bytes) {
      note_incomparable(kPart);
    }
  }
  while (each != mapped.end() && each->first - first < bytes) {
    if (each->second.bytes > bytes - (each->first - first)) {
      note_incomparable(kPart);
    }
    each = change(each->first, each->second) ? std::next(each) : mapped.erase(each);
  }
}

}  // namespace

void note_physical(ze_physical_mem_handle_t physical, ze_device_handle_t device) noexcept {
  if (runtime.inventory == nullptr) {
    return;
  }
  try {
    const env::MutexLock guard(tables().mutex);
    tables().physical[physical] = device;
  } catch (...) {
    note_incomparable(kNoMemory);
  }
}

void forget_physical(ze_physical_mem_handle_t physical) noexcept {
  if (runtime.inventory != nullptr) {
    const env::MutexLock guard(tables().mutex);
    tables().physical.erase(physical);
  }
}

void note_mapped(ze_context_handle_t context, const void* start, std::size_t bytes, ze_physical_mem_handle_t physical,
                 ze_memory_access_attribute_t access) noexcept {
  if (runtime.inventory == nullptr) {
    return;
  }
  try {
    const env::MutexLock guard(tables().mutex);
    const auto address = reinterpret_cast<std::uint64_t>(start);
    const auto of = tables().physical.find(physical);
    Range& range = tables().mapped[address];
    range = {bytes, context, of == tables().physical.end() ? nullptr : of->second, false};
    set_access(address, range, access == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
  } catch (...) {
    note_incomparable(kNoMemory);
  }
}

void note_access(const void* start, std::size_t bytes, ze_memory_access_attribute_t access) noexcept {
  if (runtime.inventory == nullptr) {
    return;
  }
  for_each_within(start, bytes, [&](std::uint64_t address, Range& range) {
    set_access(address, range, access == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
    return true;
  });
}

void note_unmapped(const void* start, std::size_t bytes) noexcept {
  if (runtime.inventory == nullptr) {
    return;
  }
  for_each_within(start, bytes, [](std::uint64_t address, Range& range) {
    set_access(address, range, false);
    return false;
  });
}

}  // namespace refrain::layer::level_zero
