// A clock for the hot path: nanoseconds of the steady clock, read from the processor's time stamp
// counter where that is constant, which takes a third of the time.
#pragma once

#include <cstdint>

namespace refrain::replay {

/// Nanoseconds since an arbitrary point, monotonic within a thread. Thread-safe. Agrees with
/// CLOCK_MONOTONIC to about 0.1 % (the rate is measured over the first milliseconds of the process).
[[nodiscard]] std::uint64_t now_ns() noexcept;

}  // namespace refrain::replay
