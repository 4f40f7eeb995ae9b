// Of the context what HeldOperations uses.
#pragma once
#include "replay/lane/engine_state.h"
#include "replay/runtime/watchdog.h"

namespace refrain::replay {
struct LaneContext {
  Watchdog watchdog{0, 0, {}};
};
}  // namespace refrain::replay
