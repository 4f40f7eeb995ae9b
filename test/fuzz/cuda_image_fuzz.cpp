// Any bytes as a file with device code for CUDA.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "backends/cuda/code_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> exact(first, first + size);
  const refrain::backends::CodeImage image = refrain::backends::image_in(exact);
  if (!image.bytes.empty() && (image.bytes.data() != exact.data() || image.bytes.size() > exact.size())) {
    std::abort();
  }
  return 0;
}
