#include "layer/cuda/driver_search.h"

namespace refrain::layer::cuda {

std::vector<std::string> find_drivers(const std::string& given) {
  static constexpr const char* kFolders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64",       "/usr/lib",
                                             "/usr/local/nvidia/lib64",   "/usr/lib/wsl/lib", "/run/opengl-driver/lib"};
  return find_libraries({given, kDriverFile, "refrain_cuda_shim", kFolders});
}

std::string unredirected(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(0, slash) + "/./" + path.substr(slash + 1);
}

}  // namespace refrain::layer::cuda
