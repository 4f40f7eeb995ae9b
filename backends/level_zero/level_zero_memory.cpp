#include "backends/level_zero/level_zero_memory.h"

#include <algorithm>
#include <cstring>

namespace refrain::backends {

void LevelZeroMemory::use(MemoryInventory& inventory, LevelZeroFacts& facts) noexcept {
  if (can_compare(driver_)) {
    facts_ = &facts;
    inventory_ = &inventory;
  }
}

void LevelZeroMemory::context_gone(ze_context_handle_t context) noexcept {
  std::erase_if(ways_, [&](auto& each) {
    if (each.first.first != context) {
      return false;
    }
    give_back(context, each.second);
    return true;
  });
}

const char* LevelZeroMemory::why_not(const capture::QueueInfo& queue) noexcept {
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
  if (prepare(list) != ZE_RESULT_SUCCESS) {
    *why = "the driver has no memory for what compares";
    return false;
  }
  return list_memory(
      *inventory_, list.device_number, [&](const LiveMemory& memory) { return facts_->reach(memory, list); }, device,
      host, why);
}

void LevelZeroMemory::end(bool /*idle*/) noexcept {
  events_.end();
  way_ = nullptr;
  if (std::exchange(is_held_, false)) {
    inventory_->let_go();
  }
}

ze_result_t LevelZeroMemory::prepare(const ImmediateList& list) noexcept {
  const std::pair key{list.context, list.device};
  if (const auto known = ways_.find(key); known != ways_.end()) {
    way_ = &known->second;
    return ZE_RESULT_SUCCESS;
  }
  Way made;
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.ordinal = list.ordinal;
  description.index = list.index;
  description.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  ze_result_t status = driver_.zeCommandListCreateImmediate(list.context, list.device, &description, &made.list);
  if (status != ZE_RESULT_SUCCESS) {
    return status;
  }
  ze_host_mem_alloc_desc_t of_host{};
  of_host.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
  void* between = nullptr;
  status = driver_.zeMemAllocHost(list.context, &of_host, kBetween, AddressedMemory::kPage, &between);
  if (status == ZE_RESULT_SUCCESS) {
    made.between = static_cast<std::byte*>(between);
    try {
      way_ = &ways_.emplace(key, made).first->second;
    } catch (...) {
      status = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
  }
  if (status != ZE_RESULT_SUCCESS) {
    give_back(list.context, made);
  }
  return status;
}

void LevelZeroMemory::give_back(ze_context_handle_t context, const Way& way) noexcept {
  if (way.between != nullptr) {
    static_cast<void>(driver_.zeMemFree(context, way.between));
  }
  destroy_object(driver_.zeCommandListDestroy, way.list);
}

/// The program's side is in the inventory, even where that is memory of the host.
Status LevelZeroMemory::move(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept {
  const bool writes = inventory_->find(to).has_value();
  const std::uint64_t own = reinterpret_cast<std::uint64_t>(way_->between);
  const auto memory = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(kBetween, bytes - done);
    if (writes) {
      std::memcpy(way_->between, memory(from + done), part);
    }
    const ze_result_t status = driver_.zeCommandListAppendMemoryCopy(
        way_->list, memory(writes ? to + done : own), memory(writes ? own : from + done), part, nullptr, 0, nullptr);
    if (status != ZE_RESULT_SUCCESS) {
      return {static_cast<int>(status)};
    }
    if (!writes) {
      std::memcpy(memory(to + done), way_->between, part);
    }
    done += part;
  }
  return {};
}

}  // namespace refrain::backends
