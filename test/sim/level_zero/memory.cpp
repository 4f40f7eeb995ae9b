// Allocations.
#include "test/sim/level_zero/objects.h"

namespace sim::level_zero {
namespace {

ze_result_t make(const char* name, ze_context_handle_t context_handle, std::size_t bytes, std::size_t alignment,
                 MemoryType type, void** result) {
  if (const ze_result_t status = begin(name); status != ZE_RESULT_SUCCESS) {
    return status;
  }
  const Lock lock;
  const Context* context = find_or_complain(state().contexts, context_handle, name);
  if (context == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (bytes == 0) {
    return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  }
  const Address address = allocate(context, bytes, type, alignment == 0 ? 256 : alignment);
  *result = host(address);
  return address == 0 ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY : ZE_RESULT_SUCCESS;
}

ze_result_t zeMemAllocDevice(ze_context_handle_t context, const ze_device_mem_alloc_desc_t*, std::size_t bytes,
                             std::size_t alignment, ze_device_handle_t, void** result) {
  return make("zeMemAllocDevice", context, bytes, alignment, MemoryType::kDevice, result);
}
ze_result_t zeMemAllocHost(ze_context_handle_t context, const ze_host_mem_alloc_desc_t*, std::size_t bytes,
                           std::size_t alignment, void** result) {
  return make("zeMemAllocHost", context, bytes, alignment, MemoryType::kHost, result);
}
ze_result_t zeMemAllocShared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t*,
                             const ze_host_mem_alloc_desc_t*, std::size_t bytes, std::size_t alignment,
                             ze_device_handle_t, void** result) {
  return make("zeMemAllocShared", context, bytes, alignment, MemoryType::kShared, result);
}

ze_result_t give_back(const char* name, void* memory, bool waits) {
  if (const ze_result_t status = begin(name); status != ZE_RESULT_SUCCESS) {
    return status;
  }
  Lock lock;
  const Allocation* found = find_allocation(address_of(memory));
  if (found == nullptr || found->start != address_of(memory)) {
    violation("%s of what was not allocated", name);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (waits) {
    const auto* context = static_cast<const Context*>(found->owner);
    wait_for_all(lock, context->open);
  }
  release(address_of(memory));  // work in flight that uses it complains
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemFree(ze_context_handle_t, void* memory) {
  return give_back("zeMemFree", memory, false);
}
ze_result_t zeMemFreeExt(ze_context_handle_t, const ze_memory_free_ext_desc_t* how, void* memory) {
  return give_back("zeMemFreeExt", memory,
                   how != nullptr && (how->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE) != 0);
}

ze_result_t zeMemGetAllocProperties(ze_context_handle_t, const void* memory, ze_memory_allocation_properties_t* answer,
                                    ze_device_handle_t* device) {
  ENTER(zeMemGetAllocProperties);
  const Lock lock;
  const Allocation* found = find_allocation(address_of(memory));
  answer->type = ZE_MEMORY_TYPE_UNKNOWN;
  answer->id = 0;
  answer->pageSize = 4096;
  if (found != nullptr) {
    answer->type = found->type == MemoryType::kDevice ? ZE_MEMORY_TYPE_DEVICE
                   : found->type == MemoryType::kHost ? ZE_MEMORY_TYPE_HOST
                                                      : ZE_MEMORY_TYPE_SHARED;
    answer->id = found->id;
  }
  if (device != nullptr) {
    *device = found != nullptr && found->type != MemoryType::kHost ? the_device() : nullptr;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetAddressRange(ze_context_handle_t, const void* memory, void** start, std::size_t* bytes) {
  ENTER(zeMemGetAddressRange);
  const Lock lock;
  const Allocation* found = find_allocation(address_of(memory));
  if (found == nullptr) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (start != nullptr) {
    *start = host(found->start);
  }
  if (bytes != nullptr) {
    *bytes = found->bytes;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeVirtualMemSetAccessAttribute(ze_context_handle_t, const void*, std::size_t,
                                           ze_memory_access_attribute_t access) {
  ENTER(zeVirtualMemSetAccessAttribute);
  const Lock lock;
  state().set = access;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

void fill(ze_virtual_mem_dditable_t& table) noexcept {
  table.pfnSetAccessAttribute = zeVirtualMemSetAccessAttribute;
}

void fill(ze_mem_dditable_t& table) noexcept {
  table.pfnAllocDevice = zeMemAllocDevice;
  table.pfnAllocHost = zeMemAllocHost;
  table.pfnAllocShared = zeMemAllocShared;
  table.pfnFree = zeMemFree;
  table.pfnFreeExt = zeMemFreeExt;
  table.pfnGetAllocProperties = zeMemGetAllocProperties;
  table.pfnGetAddressRange = zeMemGetAddressRange;
}

}  // namespace sim::level_zero
