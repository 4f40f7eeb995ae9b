#include "replay/runtime/machine.h"

#include <algorithm>
#include <thread>

#include "env/own_thread.h"

namespace refrain::replay {

bool starts_threads() noexcept {
  return true;
}

unsigned processors() noexcept {
  const unsigned given = env::processors_at_start();
  return given != 0 ? given : std::max(std::thread::hardware_concurrency(), 1U);
}

}  // namespace refrain::replay
