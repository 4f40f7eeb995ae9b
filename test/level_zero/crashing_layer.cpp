// In the place of the Level Zero layer: does not even open.
#include <cstdlib>

namespace {

[[gnu::constructor]] void crash() {
  std::abort();
}

}  // namespace
