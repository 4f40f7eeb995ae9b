// How much of a capture the engine would replay.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/model.h"

namespace refrain::replay {

/// How many submissions of each graph (as Capture::graphs) would be replayed if the program ran once more as it was
/// captured, on a device that takes what the captured one takes, with every graph ready as soon as it is known: with
/// the gate off, that is. It is the lanes' own matcher that says so. Long loops are followed until they are known, and
/// reckoned from there. Throws capture::Refused if the file makes no sense or takes too much memory.
std::vector<std::uint64_t> forecast(const capture::Capture& capture);

}  // namespace refrain::replay
