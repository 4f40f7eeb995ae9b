// Memory that the driver allocated: which argument is an address in it, and which graphs go when it is freed. (A
// recorded list may refer to the driver's own record of an allocation, not to the address.)

#include <map>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/level_zero/inventory.h"
#include "layer/level_zero/mapped_memory.h"
#include "layer/level_zero/objects.h"
#include "layer/level_zero/wrappers.h"

namespace refrain::layer::level_zero {
namespace {

using capture::MemoryPlace;

struct Memory {
  env::SharedMutex mutex;
  std::map<std::uint64_t, Place> known REFRAIN_GUARDED_BY(mutex);  ///< by start
};
Memory& memory() noexcept {
  static Immortal<Memory> all;
  return *all;
}
std::atomic<std::uint64_t> epoch{1};

void add(const void* start, std::size_t bytes, MemoryPlace kind = MemoryPlace::kDevice,
         ze_device_handle_t device = nullptr, bool whole = true) noexcept {
  try {
    const int number = device == nullptr || runtime.recorder == nullptr ? 0 : device_number(device);
    const env::MutexLock guard(memory().mutex);
    const std::uint64_t address = handle_of(start);
    memory().known[address] = {next_object_id(), address, bytes, number, kind, whole};
    epoch.fetch_add(1, std::memory_order_relaxed);
  } catch (...) {
    // An address that is not known looks like a number; copies of it are not held.
  }
}

/// Graphs with it go, then `release()` runs while none is being recorded.
template <class Release>
ze_result_t remove(const replay::EntryPoint& entry_point, const void* address, bool keep, Release&& call) noexcept {
  HostCall host_call(entry_point);
  const Place place = memory_at(handle_of(address));
  Freeing freeing(keep ? nullptr : address);
  const auto release = [&] {
    const ze_result_t status = call();
    if (status != ZE_RESULT_SUCCESS) {
      freeing.refused();
    }
    return status;
  };
  if (place.id == 0 || runtime.backend == nullptr) {
    return host_call.done(release());
  }
  if (replay::Engine* running = engine_with_threads(); running != nullptr) {
    running->object_gone(place.id);
  }
  const backends::LevelZeroBackend::NoRecording recording(*runtime.backend);
  {
    const env::MutexLock guard(memory().mutex);
    epoch.fetch_add(1, std::memory_order_relaxed);
    if (keep) {
      memory().known[place.start].id = next_object_id();
    } else {
      memory().known.erase(place.start);
    }
  }
  return host_call.done(release());
}

}  // namespace

Place memory_at(std::uint64_t address) noexcept {
  const env::SharedLock guard(memory().mutex);
  auto after = memory().known.upper_bound(address);
  if (after == memory().known.begin()) {
    return {};
  }
  const Place& place = std::prev(after)->second;
  return address - place.start < place.bytes ? place : Place{};
}

std::uint64_t memory_epoch() noexcept {
  return epoch.load(std::memory_order_relaxed);
}

ze_result_t wrap::zeMemAllocDevice(ze_context_handle_t context, const ze_device_mem_alloc_desc_t* description,
                                   size_t bytes, size_t alignment, ze_device_handle_t device, void** result) noexcept {
  const ze_result_t status = next.zeMemAllocDevice(context, description, bytes, alignment, device, result);
  if (status == ZE_RESULT_SUCCESS) {
    add(*result, bytes, MemoryPlace::kDevice, device);
    note_memory(context, device, MemoryPlace::kDevice, *result, bytes);
    note_sharing(description->pNext);
  }
  return status;
}

ze_result_t wrap::zeMemAllocHost(ze_context_handle_t context, const ze_host_mem_alloc_desc_t* description, size_t bytes,
                                 size_t alignment, void** result) noexcept {
  const ze_result_t status = next.zeMemAllocHost(context, description, bytes, alignment, result);
  if (status == ZE_RESULT_SUCCESS) {
    add(*result, bytes, MemoryPlace::kHost);
    note_memory(context, nullptr, MemoryPlace::kHost, *result, bytes);
    note_sharing(description->pNext);
  }
  return status;
}

ze_result_t wrap::zeMemAllocShared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t* description,
                                   const ze_host_mem_alloc_desc_t* host_description, size_t bytes, size_t alignment,
                                   ze_device_handle_t device, void** result) noexcept {
  const ze_result_t status =
      next.zeMemAllocShared(context, description, host_description, bytes, alignment, device, result);
  if (status == ZE_RESULT_SUCCESS) {
    add(*result, bytes, MemoryPlace::kManaged, device);
    note_memory(context, device, MemoryPlace::kManaged, *result, bytes);
  }
  return status;
}

ze_result_t wrap::zeMemFree(ze_context_handle_t context, void* address) noexcept {
  return remove(entry::zeMemFree, address, false, [&] { return next.zeMemFree(context, address); });
}

ze_result_t wrap::zeMemFreeExt(ze_context_handle_t context, const ze_memory_free_ext_desc_t* how,
                               void* address) noexcept {
  return remove(entry::zeMemFreeExt, address, false, [&] { return next.zeMemFreeExt(context, how, address); });
}

ze_result_t wrap::zeMemOpenIpcHandle(ze_context_handle_t context, ze_device_handle_t device, ze_ipc_mem_handle_t handle,
                                     ze_ipc_memory_flags_t flags, void** result) noexcept {
  HostCall host_call(entry::zeMemOpenIpcHandle);
  const ze_result_t status = next.zeMemOpenIpcHandle(context, device, handle, flags, result);
  if (status == ZE_RESULT_SUCCESS) {
    note_shared();
  }
  void* start = nullptr;
  std::size_t bytes = 0;
  if (status == ZE_RESULT_SUCCESS && runtime.driver.zeMemGetAddressRange != nullptr &&
      runtime.driver.zeMemGetAddressRange(context, *result, &start, &bytes) == ZE_RESULT_SUCCESS) {
    add(start, bytes);
  }
  return host_call.done(status);
}

ze_result_t wrap::zeMemCloseIpcHandle(ze_context_handle_t context, const void* address) noexcept {
  return remove(entry::zeMemCloseIpcHandle, address, false, [&] { return next.zeMemCloseIpcHandle(context, address); });
}

ze_result_t wrap::zeImageCreate(ze_context_handle_t context, ze_device_handle_t device,
                                const ze_image_desc_t* description, ze_image_handle_t* image) noexcept {
  HostCall host_call(entry::zeImageCreate);
  const ze_result_t status = next.zeImageCreate(context, device, description, image);
  if (status == ZE_RESULT_SUCCESS && (description->flags & ZE_IMAGE_FLAG_KERNEL_WRITE) != 0) {
    note_incomparable("kernels may write images, which cannot be compared");
  }
  return host_call.done(status);
}

ze_result_t wrap::zeVirtualMemReserve(ze_context_handle_t context, const void* start, size_t bytes,
                                      void** result) noexcept {
  const ze_result_t status = next.zeVirtualMemReserve(context, start, bytes, result);
  if (status == ZE_RESULT_SUCCESS) {
    add(*result, bytes, MemoryPlace::kDevice, nullptr, false);
  }
  return status;
}

ze_result_t wrap::zeVirtualMemFree(ze_context_handle_t context, const void* address, size_t bytes) noexcept {
  return remove(entry::zeVirtualMemFree, address, false,
                [&] { return next.zeVirtualMemFree(context, address, bytes); });
}

ze_result_t wrap::zeVirtualMemUnmap(ze_context_handle_t context, const void* address, size_t bytes) noexcept {
  return remove(entry::zeVirtualMemUnmap, address, true, [&] {
    const Uncompared uncompared;
    const ze_result_t status = next.zeVirtualMemUnmap(context, address, bytes);
    if (status == ZE_RESULT_SUCCESS) {
      note_unmapped(address, bytes);
    }
    return status;
  });
}

ze_result_t wrap::zeVirtualMemMap(ze_context_handle_t context, const void* address, size_t bytes,
                                  ze_physical_mem_handle_t physical, size_t offset,
                                  ze_memory_access_attribute_t access) noexcept {
  HostCall host_call(entry::zeVirtualMemMap);
  const Uncompared uncompared;
  const ze_result_t status = next.zeVirtualMemMap(context, address, bytes, physical, offset, access);
  if (status == ZE_RESULT_SUCCESS) {
    note_mapped(context, address, bytes, physical, access);
  }
  return host_call.done(status);
}

ze_result_t wrap::zePhysicalMemCreate(ze_context_handle_t context, ze_device_handle_t device,
                                      ze_physical_mem_desc_t* description,
                                      ze_physical_mem_handle_t* physical) noexcept {
  HostCall host_call(entry::zePhysicalMemCreate);
  const ze_result_t status = next.zePhysicalMemCreate(context, device, description, physical);
  if (status == ZE_RESULT_SUCCESS) {
    note_physical(*physical, device);
    note_sharing(description->pNext);
  }
  return host_call.done(status);
}

ze_result_t wrap::zePhysicalMemDestroy(ze_context_handle_t context, ze_physical_mem_handle_t physical) noexcept {
  HostCall host_call(entry::zePhysicalMemDestroy);
  forget_physical(physical);
  return host_call.done(next.zePhysicalMemDestroy(context, physical));
}

}  // namespace refrain::layer::level_zero
