#include <cstring>

#include "test/sim/cuda/face.h"

using sim::Address;
using sim::Allocation;
using sim::Lock;
using sim::MemoryType;
using sim::Status;

namespace {

CUresult allocate_host(std::size_t bytes, void** host) {
  Address address = 0;
  const Status status = sim::allocate_memory(bytes, MemoryType::kHost, &address);
  if (status == Status::kOk) {
    *host = sim::host(address);
  }
  return sim::cuda::result(status);
}

/// CUmemorytype; memory that both use is the device's, and managed.
unsigned type_of(const Allocation& allocation) noexcept {
  return allocation.type == MemoryType::kHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

CUresult attribute(CUpointer_attribute wanted, const Allocation* found, CUdeviceptr address, void* answer) {
  const auto give = [answer](auto value) { std::memcpy(answer, &value, sizeof(value)); };
  switch (wanted) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: give(found == nullptr ? 0U : type_of(*found)); break;
    case CU_POINTER_ATTRIBUTE_CONTEXT: give(found == nullptr ? nullptr : found->owner); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: give(found == nullptr ? CUdeviceptr{0} : address); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: give(found == nullptr ? CUdeviceptr{0} : found->start); break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: give(found == nullptr ? std::size_t{0} : found->bytes); break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: give(found == nullptr ? 0ULL : found->id); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: give(found == nullptr ? -2 : 0); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: give(found != nullptr && found->type == MemoryType::kShared ? 1 : 0); break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      give(found == nullptr ? CU_MEM_ACCESS_FLAGS_PROT_NONE : CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
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
  *unused = *total = std::size_t{1} << 30U;
  return CUDA_SUCCESS;
}
FACE cuMemGetAddressRange_v2(CUdeviceptr* start, std::size_t* bytes, CUdeviceptr address) {
  ENTER(cuMemGetAddressRange_v2);
  const Lock lock;
  const Allocation* found = sim::find_allocation(address);
  if (found == nullptr) {
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
  const Allocation* found = sim::find_allocation(address);
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : attribute(wanted, found, address, answer);
}
FACE cuPointerGetAttributes(unsigned count, CUpointer_attribute* wanted, void** answers, CUdeviceptr address) {
  ENTER(cuPointerGetAttributes);
  const Lock lock;
  const Allocation* found = sim::find_allocation(address);
  for (unsigned i = 0; i < count; ++i) {
    if (const CUresult status = attribute(wanted[i], found, address, answers[i]); status != CUDA_SUCCESS) {
      return status;
    }
  }
  return CUDA_SUCCESS;
}
SUBMIT_TWICE(cuMemAllocAsync, (CUdeviceptr * address, std::size_t bytes, CUstream stream),
             sim::allocate_in_order(bytes, stream, per_thread, address))
SUBMIT_TWICE(cuMemAllocFromPoolAsync, (CUdeviceptr * address, std::size_t bytes, CUmemoryPool, CUstream stream),
             sim::allocate_in_order(bytes, stream, per_thread, address))
// A pool is nothing of its own: no memory is kept in it.
FACE cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps*) {
  ENTER(cuMemPoolCreate);
  static int one;
  *pool = reinterpret_cast<CUmemoryPool>(&one);
  return CUDA_SUCCESS;
}
FACE cuMemPoolTrimTo(CUmemoryPool, std::size_t) {
  ENTER(cuMemPoolTrimTo);
  return CUDA_SUCCESS;
}
FACE cuMemPoolDestroy(CUmemoryPool) {
  ENTER(cuMemPoolDestroy);
  return CUDA_SUCCESS;
}
SUBMIT_TWICE(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), sim::free_in_order(address, stream, per_thread))
