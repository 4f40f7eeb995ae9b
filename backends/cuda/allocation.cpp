#include "backends/cuda/allocation.h"

#include <array>

namespace refrain::backends {

bool find_allocation(const CudaDriver& driver, std::uint64_t address, Allocation* found) noexcept {
  Allocation answer;
  unsigned type = 0;
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  unsigned long long id = 0;
  std::array<CUpointer_attribute, 5> wanted = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                               CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                               CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, 5> answers = {&type, &start, &bytes, &id, &answer.device};
  if (driver.cuPointerGetAttributes(static_cast<unsigned>(wanted.size()), wanted.data(), answers.data(), address) !=
          CUDA_SUCCESS ||
      (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_HOST)) {
    return false;
  }
  answer.type = type == CU_MEMORYTYPE_HOST ? MemoryType::kHost : MemoryType::kDevice;
  answer.start = start;
  answer.bytes = bytes;
  answer.id = id;
  *found = answer;
  return true;
}

bool is_managed(const CudaDriver& driver, std::uint64_t address) noexcept {
  CUpointer_attribute wanted = CU_POINTER_ATTRIBUTE_IS_MANAGED;
  unsigned managed = 0;
  void* answer = &managed;
  return driver.cuPointerGetAttributes(1, &wanted, &answer, address) == CUDA_SUCCESS && managed != 0;
}

Reach reach(const CudaDriver& driver, std::uint64_t address) noexcept {
  CUpointer_attribute wanted = CU_POINTER_ATTRIBUTE_ACCESS_FLAGS;
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  void* answer = &flags;
  if (driver.cuPointerGetAttributes(1, &wanted, &answer, address) != CUDA_SUCCESS) {
    return Reach::kNone;
  }
  return flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? Reach::kWrites
         : flags == CU_MEM_ACCESS_FLAGS_PROT_READ    ? Reach::kReads
                                                     : Reach::kNone;
}

}  // namespace refrain::backends
