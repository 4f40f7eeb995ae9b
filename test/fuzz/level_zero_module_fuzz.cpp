// Any bytes as a module in SPIR-V, and as what a capture tells of how it is built.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/level_zero/module_build.h"
#include "backends/spirv_contents.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain::backends;
  const std::vector<std::uint8_t> exact(data, data + size);
  const ModuleContents contents = contents_of_spirv(std::as_bytes(std::span(exact)));
  for (const SpecializationConstant& constant : contents.constants) {
    if (!contents.known || constant.bytes == 0 || constant.bytes > sizeof(std::uint64_t)) {
      std::abort();
    }
  }
  const std::string_view text(reinterpret_cast<const char*>(exact.data()), exact.size());
  if (const std::optional<level_zero::ModuleBuild> build = level_zero::read_build(text);
      build && level_zero::read_build(level_zero::text_of(*build)) != build) {
    std::abort();
  }
  return 0;
}
