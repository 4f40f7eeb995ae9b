// How a stretch ends where no call of the program is that ends one. Captures tell the names, and what is foreseen from
// a capture is cut as lanes are.
#pragma once

#include "capture/operation.h"

namespace refrain::replay {

/// Like a host call in the history.
inline constexpr capture::Token kHandoff = 0x9F0C5A7E61D34B82ULL;  // format
inline constexpr char kHandedOff[] = "another thread's work in the same queue";
inline constexpr char kStopped[] = "Refrain was stopped";
/// A thread's last one; another thread goes on with its lane.
inline constexpr char kThreadEnds[] = "the end of its thread";

}  // namespace refrain::replay
