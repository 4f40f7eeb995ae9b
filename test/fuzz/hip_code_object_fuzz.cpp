// Any bytes as a file with device code for HIP.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "backends/hip/code_object.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kLargestArguments = 1U << 20U;
  const std::vector<std::uint8_t> exact(data, data + size);
  const refrain::backends::hip::ImageLayouts layouts = refrain::backends::hip::read_layouts(exact.data(), exact.size());
  for (const auto& [name, kernel] : layouts.kernels) {
    for (const refrain::backends::hip::KernelParameter& parameter : kernel.parameters) {
      if (name.empty() || parameter.offset > kLargestArguments || parameter.size > kLargestArguments) {
        std::abort();
      }
    }
  }
  return 0;
}
