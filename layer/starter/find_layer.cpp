// Where the layer is: in the folder of the file that the starter was loaded from, by whatever links.
#include <limits.h>

#include "layer/starter/c_library.h"
#include "layer/starter/facts.h"

namespace refrain::layer::starter {

OpenLayer find_layer(const char* file, const char** why) noexcept {
  static Text<std::size_t{2} * PATH_MAX> path;
  char real[PATH_MAX];
  if (realpath(file, real) == nullptr) {
    *why = "its own file is gone";
    return nullptr;
  }
  path += real;
  path.cut_last_part();
  path += "/";
  path += facts.layer;
  void* const library = open_library(path.c_str(), why);
  if (library == nullptr) {
    return nullptr;
  }
  path += " is another library";
  *why = path.c_str();
  return reinterpret_cast<OpenLayer>(DynamicSymbols(library).find("refrain_layer_open"));
}

}  // namespace refrain::layer::starter
