// A thread of the program that has nothing to do with the rest of it: queues, memory and kernels of its own.
#pragma once

#include <cstdint>
#include <stop_token>
#include <thread>

#include "test/portable/device.h"

namespace property {

/// Works from construction to destruction. What the others compute, and what they are told, must not depend on it.
class Noise {
 public:
  /// `seed` says what it does. `blocking`: its queues may be of kinds that the default queue waits for. The device and
  /// its kernels must outlive it.
  Noise(portable::Device& device, std::uint64_t seed, bool blocking);

 private:
  std::jthread thread_;  ///< stopped and joined at the end
};

}  // namespace property
