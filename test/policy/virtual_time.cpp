#include "test/policy/virtual_time.h"

#include <algorithm>

#include "replay/lane/lane.h"
#include "replay/runtime/clock.h"
#include "replay/runtime/machine.h"

namespace refrain {
namespace {
policy::VirtualTime* current = nullptr;
unsigned processors_now = 1;
}  // namespace

// In place of replay/runtime/clock.cpp and replay/runtime/machine.cpp.
namespace replay {
std::uint64_t now_ns() noexcept {
  return current == nullptr ? 0 : current->now();
}
bool starts_threads() noexcept {
  return false;
}
unsigned processors() noexcept {
  return processors_now;
}
}  // namespace replay

namespace policy {

VirtualTime::VirtualTime(const Costs& costs) : costs_(costs), now_(1'000'000'000) {
  current = this;
  processors_now = costs.processors;
}

VirtualTime::~VirtualTime() {
  current = nullptr;
}

void VirtualTime::attach(replay::Engine* engine, Ns hold_limit) noexcept {
  engine_ = engine;
  tick_ = hold_limit / 4;
  next_tick_ = now_ + tick_;
}

/// When the graph that is being built will be published; 0: none is.
Ns VirtualTime::build_done() const noexcept {
  const std::size_t nodes = engine_->context().builder.oldest_request();
  return nodes == 0 ? 0 : std::max(builder_free_, requested_) + costs_.instantiate.of(nodes);
}

void VirtualTime::pass(Ns ns) noexcept {
  const Ns until = now_ + ns;
  if (engine_ == nullptr) {
    now_ = until;
    return;
  }
  replay::GraphBuilder& builder = engine_->context().builder;
  while (true) {
    if (builder.oldest_request() == 0) {
      requested_ = 0;
    } else if (requested_ == 0) {
      requested_ = now_;
      stalled_ = false;
    }
    const Ns built = build_done();
    const bool build_is_next = built != 0 && built <= until && (built <= next_tick_ || !engine_->anything_held());
    if (build_is_next) {
      const Ns here = std::max(now_, built);
      now_ = std::max(builder_free_, requested_);  // the background thread's own clock
      builder.build_oldest();
      builder_free_ = now_;
      now_ = here;
      requested_ = 0;
      continue;
    }
    if (next_tick_ > until) {
      break;
    }
    if (engine_->anything_held()) {
      const Ns here = std::max(now_, next_tick_);
      now_ = here;
      static_cast<void>(engine_->context().watchdog.look());  // on another thread: costs this one nothing
      now_ = here;
    }
    next_tick_ += tick_;
  }
  now_ = until;
}

void VirtualTime::stall() noexcept {
  if (engine_ == nullptr || requested_ == 0 || stalled_ ||
      engine_->context().builder.oldest_request() < costs_.stall_from) {
    return;
  }
  const Ns begin = std::max(builder_free_, requested_);
  const Ns end = build_done();
  if (now_ >= begin && now_ < end) {
    now_ += std::min(end - now_, costs_.longest_stall);
    stalled_ = true;
  }
}

}  // namespace policy
}  // namespace refrain
