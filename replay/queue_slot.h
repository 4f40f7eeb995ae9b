// What a layer keeps for replay/ with each queue, and with each function of the API.
#pragma once

#include <atomic>

#include "backends/backend.h"
#include "capture/operation.h"

namespace refrain::replay {

class Lane;

/// A function of the API, for explanations and for the history (identity is its address).
struct EntryPoint {
  const char* name;
};

/// The replay state of a queue; a member of the layer's own queue state. Must not move.
struct QueueSlot {
  std::atomic<Lane*> holder{nullptr};  ///< the lane that holds work for this queue
  /// The lane that submitted to it last, as far as lanes look at what they submit. Only to be compared: it may be gone.
  std::atomic<const Lane*> newest{nullptr};
  capture::QueueInfo info;
  backends::Capabilities capabilities;  ///< filled by Engine::adopt_queue
};

}  // namespace refrain::replay
