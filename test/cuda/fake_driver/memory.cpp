#include "test/cuda/fake_driver/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fake {
namespace {

struct Memory {
  std::map<CUdeviceptr, Allocation> live;
  std::map<CUdeviceptr, std::size_t> freed;
  std::map<std::size_t, std::vector<CUdeviceptr>> reusable;
  unsigned long long last_id = 0;
};
Memory& memory() noexcept {
  static Memory& all = *new Memory;
  return all;
}

std::size_t rounded(std::size_t bytes) noexcept {
  return (bytes + 255) / 256 * 256;
}

CUresult free_memory(const char* name, CUdeviceptr address) {
  if (const CUresult status = enter(name); status != CUDA_SUCCESS) {
    return status;
  }
  Lock lock;
  if (address == 0) {
    return CUDA_SUCCESS;
  }
  if (const CUresult status = forbidden_in_captures(); status != CUDA_SUCCESS) {
    return status;
  }
  wait_for_device(lock);
  const Allocation* found = find_allocation(address);
  if (found == nullptr || found->start != address) {
    violation("%s of what was not allocated", name);
    return CUDA_ERROR_INVALID_VALUE;
  }
  release(address);
  return CUDA_SUCCESS;
}

}  // namespace

const Allocation* find_allocation(CUdeviceptr address) {
  auto& live = memory().live;
  auto next = live.upper_bound(address);
  if (next == live.begin()) {
    return nullptr;
  }
  const Allocation& found = std::prev(next)->second;
  return address - found.start < found.bytes ? &found : nullptr;
}

bool within(const Allocation& allocation, CUdeviceptr address, std::size_t bytes) {
  return address >= allocation.start && bytes <= allocation.bytes &&
         address - allocation.start <= allocation.bytes - bytes;
}

bool was_freed(CUdeviceptr address) {
  auto& freed = memory().freed;
  auto next = freed.upper_bound(address);
  return next != freed.begin() && address - std::prev(next)->first < std::prev(next)->second;
}

bool usable(CUdeviceptr address, std::size_t bytes, const char* by) {
  const Lock lock;
  const Allocation* found = find_allocation(address);
  if (found != nullptr && within(*found, address, bytes)) {
    return true;
  }
  violation("%s uses %s", by, was_freed(address) ? "freed memory" : "memory that is not the device's");
  return false;
}

CUresult allocate(Context* context, std::size_t bytes, unsigned type, CUdeviceptr* address) {
  if (bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto& again = memory().reusable[rounded(bytes)];
  if (!again.empty()) {
    *address = again.back();
    again.pop_back();
    memory().freed.erase(*address);
  } else {
    void* made = std::aligned_alloc(256, rounded(bytes));
    if (made == nullptr) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    std::memset(made, 0xA5, rounded(bytes));
    *address = reinterpret_cast<CUdeviceptr>(made);
  }
  memory().live[*address] = {*address, bytes, ++memory().last_id, type, context, false};
  return CUDA_SUCCESS;
}

void release(CUdeviceptr start) {
  const auto found = memory().live.find(start);
  const std::size_t bytes = rounded(found->second.bytes);
  memory().live.erase(found);
  memory().freed[start] = bytes;
  std::memset(reinterpret_cast<void*>(start), 0xDD, bytes);
  if (reuses_addresses()) {
    memory().reusable[bytes].push_back(start);
  }
}

void free_all(const Context* context) {
  std::vector<CUdeviceptr> gone;
  for (const auto& [start, allocation] : memory().live) {
    if (allocation.context == context && !allocation.registered) {
      gone.push_back(start);
    }
  }
  std::for_each(gone.begin(), gone.end(), &release);
}

}  // namespace fake

using fake::Context;
using fake::Lock;

namespace {

CUresult allocate(const char* name, std::size_t bytes, unsigned type, CUdeviceptr* address) {
  if (const CUresult status = fake::enter(name); status != CUDA_SUCCESS) {
    return status;
  }
  const Lock lock;
  Context* context = nullptr;
  CUresult status = fake::current(&context);
  if (status == CUDA_SUCCESS) {
    status = fake::forbidden_in_captures();
  }
  return status != CUDA_SUCCESS ? status : fake::allocate(context, bytes, type, address);
}

CUresult allocate_host(const char* name, std::size_t bytes, void** host) {
  CUdeviceptr address = 0;
  const CUresult status = allocate(name, bytes, CU_MEMORYTYPE_HOST, &address);
  if (status == CUDA_SUCCESS) {
    *host = reinterpret_cast<void*>(address);
  }
  return status;
}

CUresult attribute(CUpointer_attribute wanted, const fake::Allocation* found, CUdeviceptr address, void* answer) {
  const auto give = [answer](auto value) { std::memcpy(answer, &value, sizeof(value)); };
  switch (wanted) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: give(found == nullptr ? 0U : found->type); break;
    case CU_POINTER_ATTRIBUTE_CONTEXT: give(found == nullptr ? nullptr : found->context); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: give(found == nullptr ? CUdeviceptr{0} : address); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: give(found == nullptr ? CUdeviceptr{0} : found->start); break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: give(found == nullptr ? std::size_t{0} : found->bytes); break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: give(found == nullptr ? 0ULL : found->id); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: give(found == nullptr ? -2 : 0); break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

FAKE cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return allocate("cuMemAlloc_v2", bytes, CU_MEMORYTYPE_DEVICE, address);
}
FAKE cuMemFree_v2(CUdeviceptr address) {
  return fake::free_memory("cuMemFree_v2", address);
}
FAKE cuMemHostAlloc(void** host, std::size_t bytes, unsigned) {
  return allocate_host("cuMemHostAlloc", bytes, host);
}
FAKE cuMemAllocHost_v2(void** host, std::size_t bytes) {
  return allocate_host("cuMemAllocHost_v2", bytes, host);
}
FAKE cuMemFreeHost(void* host) {
  return fake::free_memory("cuMemFreeHost", reinterpret_cast<CUdeviceptr>(host));
}
FAKE cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* host, unsigned) {
  ENTER(cuMemHostGetDevicePointer_v2);
  const Lock lock;
  *address = reinterpret_cast<CUdeviceptr>(host);
  return fake::find_allocation(*address) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FAKE cuMemGetInfo_v2(std::size_t* unused, std::size_t* total) {
  ENTER(cuMemGetInfo_v2);
  *unused = *total = std::size_t{1} << 30U;
  return CUDA_SUCCESS;
}
FAKE cuPointerGetAttribute(void* answer, CUpointer_attribute wanted, CUdeviceptr address) {
  ENTER(cuPointerGetAttribute);
  const Lock lock;
  const fake::Allocation* found = fake::find_allocation(address);
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : attribute(wanted, found, address, answer);
}
FAKE cuPointerGetAttributes(unsigned count, CUpointer_attribute* wanted, void** answers, CUdeviceptr address) {
  ENTER(cuPointerGetAttributes);
  const Lock lock;
  const fake::Allocation* found = fake::find_allocation(address);
  for (unsigned i = 0; i < count; ++i) {
    if (const CUresult status = attribute(wanted[i], found, address, answers[i]); status != CUDA_SUCCESS) {
      return status;
    }
  }
  return CUDA_SUCCESS;
}
