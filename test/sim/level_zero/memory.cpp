// Allocations, and memory that is mapped.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>

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

// Memory that is mapped is that of the reservation: it has no other address.
constexpr std::size_t kPage = 65536;

std::map<Address, std::size_t>& reserved() {
  static auto& all = *new std::map<Address, std::size_t>;
  return all;
}
bool is_reserved(Address start, std::size_t bytes) {
  const auto after = reserved().upper_bound(start);
  return after != reserved().begin() && start - std::prev(after)->first < std::prev(after)->second &&
         bytes <= std::prev(after)->second - (start - std::prev(after)->first);
}

ze_result_t zeVirtualMemQueryPageSize(ze_context_handle_t, ze_device_handle_t, std::size_t, std::size_t* bytes) {
  ENTER(zeVirtualMemQueryPageSize);
  *bytes = kPage;
  return ZE_RESULT_SUCCESS;
}
ze_result_t zeVirtualMemReserve(ze_context_handle_t, const void*, std::size_t bytes, void** result) {
  ENTER(zeVirtualMemReserve);
  const Lock lock;
  if (bytes == 0 || bytes % kPage != 0) {
    return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  }
  *result = std::aligned_alloc(kPage, bytes);
  if (*result == nullptr) {
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  std::memset(*result, 0xA5, bytes);
  reserved()[address_of(*result)] = bytes;
  return ZE_RESULT_SUCCESS;
}
ze_result_t zeVirtualMemFree(ze_context_handle_t, const void* start, std::size_t bytes) {
  ENTER(zeVirtualMemFree);
  const Lock lock;
  const auto found = reserved().find(address_of(start));
  if (found == reserved().end() || found->second != bytes) {
    violation("zeVirtualMemFree of what was not reserved like that");
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  reserved().erase(found);
  std::free(const_cast<void*>(start));
  return ZE_RESULT_SUCCESS;
}
ze_result_t zePhysicalMemCreate(ze_context_handle_t, ze_device_handle_t, ze_physical_mem_desc_t* description,
                                ze_physical_mem_handle_t* result) {
  ENTER(zePhysicalMemCreate);
  if (description->size == 0 || description->size % kPage != 0) {
    return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  }
  static std::atomic<std::uintptr_t> last{0};
  *result = reinterpret_cast<ze_physical_mem_handle_t>(++last);
  return ZE_RESULT_SUCCESS;
}
ze_result_t zePhysicalMemDestroy(ze_context_handle_t, ze_physical_mem_handle_t) {
  ENTER(zePhysicalMemDestroy);
  return ZE_RESULT_SUCCESS;
}
ze_result_t zeVirtualMemMap(ze_context_handle_t context, const void* start, std::size_t bytes, ze_physical_mem_handle_t,
                            std::size_t, ze_memory_access_attribute_t access) {
  ENTER(zeVirtualMemMap);
  const Lock lock;
  if (!is_reserved(address_of(start), bytes) ||
      !register_memory(find_or_complain(state().contexts, context, "zeVirtualMemMap"), address_of(start), bytes,
                       MemoryType::kDevice)) {
    violation("zeVirtualMemMap where nothing is reserved, or something is mapped");
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  set_accessible(address_of(start), bytes, access != ZE_MEMORY_ACCESS_ATTRIBUTE_NONE);
  return ZE_RESULT_SUCCESS;
}
ze_result_t zeVirtualMemUnmap(ze_context_handle_t, const void* start, std::size_t bytes) {
  ENTER(zeVirtualMemUnmap);
  const Lock lock;
  for (std::size_t done = 0; done < bytes;) {
    const Address next = address_of(start) + done;
    const Allocation* found = find_allocation(next);
    if (found == nullptr || found->start != next || !found->registered || found->bytes > bytes - done) {
      violation("zeVirtualMemUnmap of what is not mapped like that");
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    done += found->bytes;
    release(next);
  }
  return ZE_RESULT_SUCCESS;
}
ze_result_t zeVirtualMemSetAccessAttribute(ze_context_handle_t, const void* start, std::size_t bytes,
                                           ze_memory_access_attribute_t access) {
  ENTER(zeVirtualMemSetAccessAttribute);
  const Lock lock;
  set_accessible(address_of(start), bytes, access != ZE_MEMORY_ACCESS_ATTRIBUTE_NONE);
  state().set = access;
  return ZE_RESULT_SUCCESS;
}

// An image is nothing of its own: no kernel here uses one.
ze_result_t zeImageCreate(ze_context_handle_t, ze_device_handle_t, const ze_image_desc_t*, ze_image_handle_t* result) {
  ENTER(zeImageCreate);
  static int one;
  *result = reinterpret_cast<ze_image_handle_t>(&one);
  return ZE_RESULT_SUCCESS;
}
ze_result_t zeImageDestroy(ze_image_handle_t) {
  ENTER(zeImageDestroy);
  return ZE_RESULT_SUCCESS;
}

}  // namespace

void fill(ze_virtual_mem_dditable_t& table) noexcept {
  table.pfnReserve = zeVirtualMemReserve;
  table.pfnFree = zeVirtualMemFree;
  table.pfnQueryPageSize = zeVirtualMemQueryPageSize;
  table.pfnMap = zeVirtualMemMap;
  table.pfnUnmap = zeVirtualMemUnmap;
  table.pfnSetAccessAttribute = zeVirtualMemSetAccessAttribute;
}

void fill(ze_physical_mem_dditable_t& table) noexcept {
  table.pfnCreate = zePhysicalMemCreate;
  table.pfnDestroy = zePhysicalMemDestroy;
}

void fill(ze_image_dditable_t& table) noexcept {
  table.pfnCreate = zeImageCreate;
  table.pfnDestroy = zeImageDestroy;
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
