#include "backends/hip/allocation.h"

#include <array>

namespace refrain::backends {
namespace {

MemoryType type_of(const HipDriver& driver, std::uint32_t told) noexcept {
  const std::uint32_t host = driver.version >= kHipRenumbersMemory ? 1 : 0;
  return told == host ? MemoryType::kHost : told == host + 1 ? MemoryType::kDevice : MemoryType::kOther;
}

}  // namespace

bool find_allocation(const HipDriver& driver, std::uint64_t address, Allocation* found) noexcept {
  // The runtime leaves alone what it cannot answer, and reports no error.
  Allocation answer;
  std::uint32_t type = 0;
  std::array<hipPointer_attribute, 5> wanted = {
      HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, HIP_POINTER_ATTRIBUTE_RANGE_SIZE,
      HIP_POINTER_ATTRIBUTE_BUFFER_ID, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, 5> answers = {&type, &answer.start, &answer.bytes, &answer.id, &answer.device};
  if (quiet(driver, driver.hipDrvPointerGetAttributes(static_cast<unsigned>(wanted.size()), wanted.data(),
                                                      answers.data(), reinterpret_cast<void*>(address))) !=
          hipSuccess ||
      answer.bytes == 0) {
    return false;
  }
  answer.type = type_of(driver, type);
  *found = answer;
  return true;
}

bool is_managed(const HipDriver& driver, std::uint64_t address) noexcept {
  hipPointer_attribute wanted = HIP_POINTER_ATTRIBUTE_IS_MANAGED;
  unsigned managed = 0;  // of which versions of the runtime write one byte, or all
  void* answer = &managed;
  return quiet(driver, driver.hipDrvPointerGetAttributes(1, &wanted, &answer, reinterpret_cast<void*>(address))) ==
             hipSuccess &&
         managed != 0;
}

}  // namespace refrain::backends
