#include "replay/runtime/machine.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace refrain::replay {
namespace {

/// When the library is loaded: at the program's start, or in the midst of it, if it loads the driver then.
struct FirstProcessors {
  FirstProcessors() noexcept { known = sched_getaffinity(0, sizeof set, &set) == 0; }
  cpu_set_t set{};
  bool known = false;
};
const FirstProcessors first_processors;

}  // namespace

bool starts_threads() noexcept {
  return true;
}

unsigned processors() noexcept {
  return std::max(std::thread::hardware_concurrency(), 1U);
}

void unbind(pthread_t thread) noexcept {
  if (first_processors.known) {
    // Refused if none of them may be used any more: then it stays where it is.
    static_cast<void>(pthread_setaffinity_np(thread, sizeof first_processors.set, &first_processors.set));
  }
}

}  // namespace refrain::replay
