#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "test/sim/cuda/face.h"

using sim::Address;
using sim::Allocation;
using sim::Lock;
using sim::MemoryType;
using sim::Status;

namespace {

constexpr std::size_t kGranularity = std::size_t{64} << 10U;

CUmemoryPool handle_of(const void* pool) noexcept {
  return reinterpret_cast<CUmemoryPool>(const_cast<void*>(pool));
}

/// What the address lies in; null: in none, or one that is freed in the order of a stream, whether that is done or not.
const Allocation* known(Address address) {
  const Allocation* found = sim::find_allocation(address);
  return found == nullptr || found->freed_in != nullptr ? nullptr : found;
}

CUresult allocate_host(std::size_t bytes, void** host) {
  Address address = 0;
  const Status status = sim::allocate_memory(bytes, MemoryType::kHost, &address);
  if (status == Status::kOk) {
    *host = sim::host(address);
  }
  return sim::cuda::result(status);
}

/// Ranges of addresses that memory can be mapped into, and how large they are.
std::map<Address, std::size_t>& reserved() noexcept {
  static auto& all = *new std::map<Address, std::size_t>;
  return all;
}

/// What the attributes of a range tell: of memory that is mapped they tell the reservation.
std::pair<Address, std::size_t> range_of(const Allocation& allocation) {
  const auto next = reserved().upper_bound(allocation.start);
  if (next != reserved().begin()) {
    const auto& [start, bytes] = *std::prev(next);
    if (allocation.start - start < bytes) {
      return {start, bytes};
    }
  }
  return {allocation.start, allocation.bytes};
}

/// CUmemorytype; memory that both use is the device's, and managed.
unsigned type_of(const Allocation& allocation) noexcept {
  return allocation.type == MemoryType::kHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

const sim::Context* owner_of(const Allocation* allocation) noexcept {
  return allocation == nullptr ? nullptr : static_cast<const sim::Context*>(allocation->owner);
}

/// By work of the calling thread's context.
bool is_reachable(const Allocation& allocation) {
  const sim::Context* const owner = owner_of(&allocation);
  return allocation.accessible &&
         (allocation.type != MemoryType::kDevice || owner == nullptr || sim::context_stack().empty() ||
          sim::cuda::may_use(sim::context_stack().back(), owner));
}

CUresult attribute(CUpointer_attribute wanted, const Allocation* found, CUdeviceptr address, void* answer) {
  const auto give = [answer](auto value) { std::memcpy(answer, &value, sizeof(value)); };
  switch (wanted) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: give(found == nullptr ? 0U : type_of(*found)); break;
    case CU_POINTER_ATTRIBUTE_CONTEXT: give(found == nullptr ? nullptr : found->owner); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: give(found == nullptr ? CUdeviceptr{0} : address); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: give(found == nullptr ? CUdeviceptr{0} : range_of(*found).first); break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: give(found == nullptr ? std::size_t{0} : range_of(*found).second); break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: give(found == nullptr ? 0ULL : found->id); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      give(found == nullptr ? -2 : owner_of(found) == nullptr ? 0 : owner_of(found)->device);
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: give(found != nullptr && found->type == MemoryType::kShared ? 1 : 0); break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      give(found == nullptr || !is_reachable(*found) ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                                                     : CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
      break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

FACE cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  ENTER(cuMemAlloc_v2);
  const sim::Alone inside;
  return sim::cuda::result(sim::allocate_memory(bytes, MemoryType::kDevice, address));
}
FACE cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height, unsigned) {
  ENTER(cuMemAllocPitch_v2);
  *pitch = (width + 255) / 256 * 256;
  return sim::cuda::result(sim::allocate_memory(*pitch * height, MemoryType::kDevice, address));
}
FACE cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned) {
  ENTER(cuMemAllocManaged);
  return sim::cuda::result(sim::allocate_memory(bytes, MemoryType::kShared, address));
}
SUBMIT_TWICE(cuMemPrefetchAsync, (CUdeviceptr memory, std::size_t bytes, CUdevice, CUstream stream),
             sim::prefetch(stream, per_thread, memory, bytes))
SUBMIT_TWICE(cuMemPrefetchAsync_v2, (CUdeviceptr memory, std::size_t bytes, CUmemLocation, unsigned, CUstream stream),
             sim::prefetch(stream, per_thread, memory, bytes))
FACE cuMemAdvise(CUdeviceptr memory, std::size_t bytes, CUmem_advise, CUdevice) {
  ENTER(cuMemAdvise);
  return sim::cuda::result(sim::advise(memory, bytes));
}
FACE cuMemAdvise_v2(CUdeviceptr memory, std::size_t bytes, CUmem_advise, CUmemLocation) {
  ENTER(cuMemAdvise_v2);
  return sim::cuda::result(sim::advise(memory, bytes));
}
FACE cuMemFree_v2(CUdeviceptr address) {
  ENTER(cuMemFree_v2);
  return sim::cuda::result(sim::free_memory("cuMemFree", address));
}
FACE cuMemHostAlloc(void** host, std::size_t bytes, unsigned) {
  ENTER(cuMemHostAlloc);
  return allocate_host(bytes, host);
}
FACE cuMemAllocHost_v2(void** host, std::size_t bytes) {
  ENTER(cuMemAllocHost_v2);
  return allocate_host(bytes, host);
}
FACE cuMemFreeHost(void* host) {
  ENTER(cuMemFreeHost);
  return sim::cuda::result(sim::free_memory("cuMemFreeHost", sim::address_of(host)));
}
FACE cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned) {
  ENTER(cuMemHostRegister_v2);
  const Lock lock;
  sim::Context* context = nullptr;
  if (const Status status = sim::current(&context); status != Status::kOk) {
    return sim::cuda::result(status);
  }
  return sim::register_memory(context, sim::address_of(host), bytes) ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}
FACE cuMemHostUnregister(void* host) {
  ENTER(cuMemHostUnregister);
  {
    const Lock lock;
    const Allocation* found = sim::find_allocation(sim::address_of(host));
    if (found == nullptr || !found->registered) {
      return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
  }
  return sim::cuda::result(sim::free_memory("cuMemHostUnregister", sim::address_of(host)));
}
FACE cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* host, unsigned) {
  ENTER(cuMemHostGetDevicePointer_v2);
  const Lock lock;
  *address = sim::address_of(host);
  return sim::find_allocation(*address) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FACE cuMemGetInfo_v2(std::size_t* unused, std::size_t* total) {
  ENTER(cuMemGetInfo_v2);
  const Lock lock;
  *total = std::size_t{1} << 30U;
  *unused = *total - sim::used_of(nullptr);
  return CUDA_SUCCESS;
}
FACE cuMemGetAddressRange_v2(CUdeviceptr* start, std::size_t* bytes, CUdeviceptr address) {
  ENTER(cuMemGetAddressRange_v2);
  const Lock lock;
  sim::Context* context = nullptr;
  if (const Status status = sim::current(&context); status != Status::kOk) {
    return sim::cuda::result(status);
  }
  const Allocation* found = known(address);
  if (found == nullptr || !found->accessible) {
    return CUDA_ERROR_NOT_FOUND;
  }
  if (start != nullptr) {
    *start = found->start;
  }
  if (bytes != nullptr) {
    *bytes = found->bytes;
  }
  return CUDA_SUCCESS;
}
FACE cuPointerGetAttribute(void* answer, CUpointer_attribute wanted, CUdeviceptr address) {
  ENTER(cuPointerGetAttribute);
  const Lock lock;
  const Allocation* found = known(address);
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : attribute(wanted, found, address, answer);
}
FACE cuPointerGetAttributes(unsigned count, CUpointer_attribute* wanted, void** answers, CUdeviceptr address) {
  ENTER(cuPointerGetAttributes);
  const Lock lock;
  const Allocation* found = known(address);
  for (unsigned i = 0; i < count; ++i) {
    if (const CUresult status = attribute(wanted[i], found, address, answers[i]); status != CUDA_SUCCESS) {
      return status;
    }
  }
  return CUDA_SUCCESS;
}
// Memory that is mapped is that of the reservation: it has no other address.
FACE cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long) {
  ENTER(cuMemAddressReserve);
  const Lock lock;
  void* made = bytes % kGranularity == 0 ? std::aligned_alloc(kGranularity, bytes) : nullptr;
  if (made == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(made, 0xA5, bytes);
  *address = sim::address_of(made);
  reserved()[*address] = bytes;
  return CUDA_SUCCESS;
}
FACE cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  ENTER(cuMemAddressFree);
  const Lock lock;
  const auto found = reserved().find(address);
  if (found == reserved().end() || found->second != bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  reserved().erase(found);
  std::free(sim::host(address));
  return CUDA_SUCCESS;
}
FACE cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp*,
                 unsigned long long) {
  ENTER(cuMemCreate);
  const Lock lock;
  static CUmemGenericAllocationHandle last = 0;
  *handle = ++last;
  return bytes % kGranularity == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FACE cuMemRelease(CUmemGenericAllocationHandle) {
  ENTER(cuMemRelease);
  return CUDA_SUCCESS;
}
FACE cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle, unsigned long long) {
  ENTER(cuMemMap);
  const Lock lock;
  const auto next = reserved().upper_bound(address);
  if (next == reserved().begin() || address - std::prev(next)->first >= std::prev(next)->second ||
      !sim::register_memory(nullptr, address, bytes, MemoryType::kDevice)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  sim::set_accessible(address, bytes, false);
  return CUDA_SUCCESS;
}
FACE cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  ENTER(cuMemUnmap);
  Lock lock;
  sim::wait_for_device(lock);
  for (std::size_t done = 0; done < bytes;) {
    const Allocation* found = sim::find_allocation(address + done);
    if (found == nullptr || found->start != address + done || !found->registered) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    done += found->bytes;
    sim::release(found->start);
  }
  return CUDA_SUCCESS;
}
SUBMIT_TWICE(cuMemAllocAsync, (CUdeviceptr * address, std::size_t bytes, CUstream stream),
             sim::allocate_in_order(bytes, nullptr, stream, per_thread, address))
SUBMIT_TWICE(cuMemAllocFromPoolAsync, (CUdeviceptr * address, std::size_t bytes, CUmemoryPool pool, CUstream stream),
             pool == nullptr ? Status::kInvalidValue : sim::allocate_in_order(bytes, pool, stream, per_thread, address))
FACE cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps*) {
  ENTER(cuMemPoolCreate);
  const void* made = nullptr;
  const Status status = sim::make_pool(&made);
  *pool = handle_of(made);
  return sim::cuda::result(status);
}
FACE cuMemPoolTrimTo(CUmemoryPool, std::size_t) {
  ENTER(cuMemPoolTrimTo);
  return CUDA_SUCCESS;
}
FACE cuMemPoolDestroy(CUmemoryPool pool) {
  ENTER(cuMemPoolDestroy);
  return sim::cuda::result(sim::destroy_pool(pool));
}
FACE cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice) {
  ENTER(cuDeviceGetDefaultMemPool);
  *pool = handle_of(sim::default_pool());
  return CUDA_SUCCESS;
}
FACE cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice) {
  ENTER(cuDeviceGetMemPool);
  const Lock lock;
  *pool = handle_of(sim::current_pool());
  return CUDA_SUCCESS;
}
FACE cuDeviceSetMemPool(CUdevice, CUmemoryPool pool) {
  ENTER(cuDeviceSetMemPool);
  return sim::cuda::result(sim::use_pool(pool));
}
// Two attributes: what the program has, and whether allocations wait for other streams.
FACE cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* answer) {
  ENTER(cuMemPoolGetAttribute);
  const Lock lock;
  const bool* const waits = sim::waits_of(pool);
  if (waits != nullptr && attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) {
    const int told = *waits ? 1 : 0;
    std::memcpy(answer, &told, sizeof(told));
    return CUDA_SUCCESS;
  }
  const cuuint64_t used = sim::used_of(pool);
  std::memcpy(answer, &used, sizeof(used));
  return attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FACE cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* wanted) {
  ENTER(cuMemPoolSetAttribute);
  const Lock lock;
  bool* const waits = sim::waits_of(pool);
  if (waits == nullptr || attribute != CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *waits = *static_cast<const int*>(wanted) != 0;
  return CUDA_SUCCESS;
}
FACE cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  ENTER(cuMemPoolExportPointer);
  const Lock lock;
  const Allocation* found = sim::find_allocation(address);
  if (found == nullptr || !found->in_order || found->freed_in != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(data, 0, sizeof(*data));
  std::memcpy(data, &found->id, sizeof(found->id));
  return CUDA_SUCCESS;
}
SUBMIT_TWICE(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), sim::free_in_order(address, stream, per_thread))
