#include "replay/lane/driver_gate.h"

#include "replay/tuning.h"

namespace refrain::replay {

DriverGate::DriverGate(LaneContext& context, IntervalTrial& intervals, bool holds)
    : context_(context), intervals_(intervals), holds_(holds) {
  context_.backend.submission_pause().add(place_);
}

DriverGate::~DriverGate() {
  context_.backend.submission_pause().remove(place_);
}

void DriverGate::yield() noexcept {
  // Few threads are often enough all out of the driver (docs/decisions/0005). One more waits for them, in most
  // programs.
  if (context_.open_lanes.load(std::memory_order_relaxed) < tuning::kCrowd) {
    return;
  }
  const std::uint64_t waited_ns = context_.backend.exclusive_call_yield().yield_to();
  if (waited_ns != 0) {
    context_.budget.spend(waited_ns);
    intervals_.disturbed();
  }
}

}  // namespace refrain::replay
