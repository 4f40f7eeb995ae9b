// Runs a program on a device.
#pragma once

#include <chrono>
#include <cstdint>

#include "test/property/program.h"

namespace property {

struct Result {
  std::uint64_t memory = 0;  ///< hash of all memory in the end
  std::uint64_t values = 0;  ///< hash of everything that calls returned and that has only one right value
  unsigned late = 0;         ///< gates that stayed closed too long (gate_watch.h); never, in plain
};

struct Conditions {
  std::uint64_t noise = 0;  ///< if not 0: one more thread does what that number says, and it must not matter (noise.h)
  std::chrono::milliseconds gate_limit{4000};
};

/// Uses the device's calls from as many threads as the program has. The device must be idle.
Result run(const Program& program, portable::Device& device, const Conditions& conditions);

}  // namespace property
