#include "backends/hip/allocation.h"

#include <array>

namespace refrain::backends {

bool find_allocation(const HipDriver& driver, std::uint64_t address, Allocation* found) noexcept {
  // The runtime leaves alone what it cannot answer, and reports no error.
  Allocation answer;
  std::array<hipPointer_attribute, 5> wanted = {
      HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, HIP_POINTER_ATTRIBUTE_RANGE_SIZE,
      HIP_POINTER_ATTRIBUTE_BUFFER_ID, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, 5> answers = {&answer.type, &answer.start, &answer.bytes, &answer.id, &answer.device};
  if (quiet(driver, driver.hipDrvPointerGetAttributes(static_cast<unsigned>(wanted.size()), wanted.data(),
                                                      answers.data(), reinterpret_cast<void*>(address))) !=
          hipSuccess ||
      answer.bytes == 0) {
    return false;
  }
  *found = answer;
  return true;
}

}  // namespace refrain::backends
