#include "backends/level_zero/level_zero_memory.h"

#include <utility>

namespace refrain::backends {

void LevelZeroMemory::use(MemoryInventory& inventory, LevelZeroFacts& facts) noexcept {
  if (can_compare(driver_)) {
    facts_ = &facts;
    inventory_ = &inventory;
  }
}

const char* LevelZeroMemory::why_not(const capture::QueueInfo& queue,
                                     std::span<const capture::OperationView> /*operations*/) noexcept {
  const ImmediateList& list = ImmediateList::of(queue.handle);
  return why_not_comparable(*inventory_, list.device_number,
                            [&](const LiveMemory& memory) { return facts_->reach(memory, list); });
}

bool LevelZeroMemory::begin(const capture::QueueInfo& queue, std::vector<MemoryRange>* device,
                            std::vector<MemoryRange>* host, const char** why) noexcept {
  is_held_ = inventory_->hold();
  if (!is_held_) {
    *why = "another thread frees memory, or gives work to a command queue";
    return false;
  }
  events_.begin();
  const ImmediateList& list = ImmediateList::of(queue.handle);
  if (!facts_->queues_are_idle()) {
    *why = "work in a command queue of the program did not end in time";
    return false;
  }
  if (copies_.prepare(list) != ZE_RESULT_SUCCESS) {
    *why = "the driver has no memory for what compares";
    return false;
  }
  return list_memory(
      *inventory_, list.device_number, [&](const LiveMemory& memory) { return facts_->reach(memory, list); }, device,
      host, why);
}

void LevelZeroMemory::end(bool /*idle*/) noexcept {
  events_.end();
  if (std::exchange(is_held_, false)) {
    inventory_->let_go();
  }
}

/// The program's side is in the inventory, even where that is memory of the host.
Status LevelZeroMemory::move(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept {
  const ze_result_t status = inventory_->find(to).has_value()
                                 ? copies_.write(to, {reinterpret_cast<const std::byte*>(from), bytes})
                                 : copies_.read(from, {reinterpret_cast<std::byte*>(to), bytes});
  return {static_cast<int>(status)};
}

}  // namespace refrain::backends
