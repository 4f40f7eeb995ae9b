#include "layer/cuda/driver_search.h"

#include "layer/cuda/library_facts.h"

namespace refrain::layer::cuda {

std::vector<std::string> find_drivers(const std::string& given) {
  return find_libraries({given, kDriverFile, kMarker, kFolders});
}

std::string unredirected(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(0, slash) + "/./" + path.substr(slash + 1);
}

}  // namespace refrain::layer::cuda
