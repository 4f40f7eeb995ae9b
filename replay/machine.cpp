#include "replay/machine.h"

#include <algorithm>
#include <thread>

namespace refrain::replay {

bool starts_threads() noexcept {
  return true;
}

unsigned processors() noexcept {
  return std::max(std::thread::hardware_concurrency(), 1U);
}

}  // namespace refrain::replay
