// Any bytes as a file that may be a program or a library.
#include "env/cli/elf_file.h"
#include "layer/library_search.h"
#include "test/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain::layer;
  static const fuzz::MemoryFile file;
  file.fill(data, size);
  static_cast<void>(is_library(file.name()));
  static_cast<void>(exports(file.name(), "cuInit"));
  if (refrain::env::ElfFile same(file.name()); same) {
    static_cast<void>(same.has_interpreter());
    for (const std::string& name : same.exported_names()) {
      if (name.size() > size) {
        std::abort();
      }
    }
  }
  static_cast<void>(dynamic_names(file.name(), DynamicName::kSoname));
  static_cast<void>(dynamic_names(file.name(), DynamicName::kNeeded));
  return 0;
}
