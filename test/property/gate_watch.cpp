#include "test/property/gate_watch.h"

#include <cstdio>

namespace property {

GateWatch::GateWatch(portable::Device& device, const std::vector<portable::Gate*>& gates,
                     std::chrono::milliseconds limit)
    : device_(device), gates_(gates), limit_(limit), since_(gates.size()) {
  if (gates_.empty()) {
    return;
  }
  thread_ = std::thread([this] {
    constexpr auto kPause = std::chrono::milliseconds(50);
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, kPause, [this] { return stopping_; })) {
      for (std::size_t gate = 0; gate < gates_.size() && late() == 0; ++gate) {
        if (closed_too_long(gate)) {
          open_all();
        }
      }
    }
  });
}

GateWatch::~GateWatch() {
  stop();
}

void GateWatch::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool GateWatch::closes(std::size_t gate) {
  since_[gate].store(Clock::now().time_since_epoch().count());
  return late() == 0;
}

bool GateWatch::closed_too_long(std::size_t gate) const {
  const Clock::duration since(since_[gate].load());
  return since != Clock::duration{} && Clock::now().time_since_epoch() - since > limit_ &&
         !device_.is_open(gates_[gate]);
}

void GateWatch::open_all() {
  unsigned closed = 0;
  for (std::size_t gate = 0; gate < gates_.size(); ++gate) {
    if (!device_.is_open(gates_[gate])) {
      ++closed;
      std::fprintf(stderr, "gate %zu is late\n", gate);
    }
  }
  late_.store(closed == 0 ? 1 : closed);  // before they open: none is closed again
  for (portable::Gate* gate : gates_) {
    device_.open(gate);
  }
}

}  // namespace property
