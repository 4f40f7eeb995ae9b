// Any bytes as the dynamic linker's cache.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "layer/starter/candidates.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);  // so that a read beyond its end is seen
  for (const char* name : {"libcuda.so.1", "libamdhip64.so.5", ""}) {
    refrain::layer::visit_linker_cache(exact.data(), exact.size(), name,
                                       {[](const char* path, void*) {
                                          if (*path != '/') {
                                            std::abort();
                                          }
                                          return std::strlen(path) > 4096;
                                        },
                                        nullptr});
  }
  return 0;
}
