#include "backends/level_zero/memory_copies.h"

#include <algorithm>
#include <cstring>

#include "backends/addressed_memory.h"

namespace refrain::backends {

ze_result_t MemoryCopies::prepare(const ImmediateList& list) noexcept {
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

ze_result_t MemoryCopies::read(std::uint64_t from, std::span<std::byte> into) noexcept {
  for (std::size_t done = 0; done < into.size();) {
    const std::size_t part = std::min(kBetween, into.size() - done);
    const ze_result_t status = driver_.zeCommandListAppendMemoryCopy(
        way_->list, way_->between, reinterpret_cast<const void*>(from + done), part, nullptr, 0, nullptr);
    if (status != ZE_RESULT_SUCCESS) {
      return status;
    }
    std::memcpy(into.data() + done, way_->between, part);
    done += part;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t MemoryCopies::write(std::uint64_t to, std::span<const std::byte> from) noexcept {
  for (std::size_t done = 0; done < from.size();) {
    const std::size_t part = std::min(kBetween, from.size() - done);
    std::memcpy(way_->between, from.data() + done, part);
    const ze_result_t status = driver_.zeCommandListAppendMemoryCopy(way_->list, reinterpret_cast<void*>(to + done),
                                                                     way_->between, part, nullptr, 0, nullptr);
    if (status != ZE_RESULT_SUCCESS) {
      return status;
    }
    done += part;
  }
  return ZE_RESULT_SUCCESS;
}

void MemoryCopies::context_gone(ze_context_handle_t context) noexcept {
  way_ = nullptr;
  std::erase_if(ways_, [&](auto& each) {
    if (each.first.first != context) {
      return false;
    }
    give_back(context, each.second);
    return true;
  });
}

void MemoryCopies::give_back(ze_context_handle_t context, const Way& way) noexcept {
  if (way.between != nullptr) {
    static_cast<void>(driver_.zeMemFree(context, way.between));
  }
  destroy_object(driver_.zeCommandListDestroy, way.list);
}

}  // namespace refrain::backends
