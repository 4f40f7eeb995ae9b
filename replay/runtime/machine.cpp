#include "replay/runtime/machine.h"

#include <algorithm>

#include "env/own_thread.h"

namespace refrain::replay {

bool starts_threads() noexcept {
  return true;
}

unsigned processors() noexcept {
  return std::max(env::processors_at_start(), 1U);
}

}  // namespace refrain::replay
