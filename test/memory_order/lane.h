// A lane of what HeldOperations is, without anything that decides. The driver is a number without any order of its own,
// so that a missing one shows as a race.
#pragma once
#include <cstddef>

#define private public  // a check looks inside
#include "replay/lane/held_operations.cpp"
#undef private
#include "threads.h"

namespace refrain::replay {
thread_local bool inside_lane = false;
class Lane {};

void OwnerLock::wait() noexcept {
  std::uint32_t open = 0;
  while (!taken_.compare_exchange_strong(open, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
    open = 0;
  }
}
void OwnerLock::wake() noexcept {}
Watchdog::Watchdog(std::uint64_t, std::function<std::uint64_t(std::uint64_t)>) : due_ns_(0), check_() {}
Watchdog::~Watchdog() {}
void Watchdog::wake() noexcept {
  awake_.store(true, std::memory_order_seq_cst);
}
}  // namespace refrain::replay

using namespace refrain;
using namespace refrain::replay;

EngineState engine;
LaneContext& context = *new LaneContext;  // never destroyed: GenMC knows no atexit()
LaneFront front{engine};
HeldOperations held{front, context};
QueueSlot queue;
Lane lane;
int driver_has = 0;

/// As CurrentSubmission does.
inline void hold_one() {
  const HasLaneLock lock(held.lock());
  const bool mine = held.claim(queue, &lane);
  assert(mine);
  held.make_room();
  static_cast<void>(held.write());
  reinterpret_cast<capture::OperationHeader*>(held.newest())->time_ns = 7;
  held.keep();
  held.publish();
}
/// As Lane::flush() does.
inline void flush() {
  const HasLaneLock lock(held.lock());
  if (!held.contains(~std::uint64_t{0})) {
    return;
  }
  ++driver_has;
  held.pop(1);
  held.publish();
}
