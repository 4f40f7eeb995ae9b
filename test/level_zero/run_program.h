// Runs a program of test/level_zero/programs_*.cpp as a process of its own: through the real loader, on the simulated
// driver, plain or with Refrain.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "test/support/child.h"

namespace run_program {

using child::Result;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// `mode`: a mode of Refrain's with the gate off, "gate" for replay with the gate on, or "plain". `more` comes last.
Result run(const std::vector<std::string>& program, const std::string& mode, int seed = 0,
           const std::map<std::string, std::string>& more = {}, double seconds = kSanitized ? 300 : 60);

}  // namespace run_program
