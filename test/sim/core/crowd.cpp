#include "test/sim/core/crowd.h"

#include <chrono>
#include <thread>

#include "test/sim/core/settings.h"

namespace sim {
namespace {

/// The C library's lock lets readers pass waiting writers, which is what this is about.
std::shared_mutex& driver() {
  static auto& only = *new std::shared_mutex;
  return only;
}

}  // namespace

AmongOthers::AmongOthers() {
  if (settings().crowd || settings().graph_memory) {
    inside_ = std::shared_lock(driver());
  }
  if (settings().crowd) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Alone::Alone() {
  if (settings().crowd || settings().graph_memory) {
    inside_ = std::unique_lock(driver());
  }
}

}  // namespace sim
