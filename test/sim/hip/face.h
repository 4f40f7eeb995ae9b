// libamdhip64.so.5 on the simulated device (../core, ../streams). As AMD's runtime it keeps the last error of each
// thread, calls some of its own functions by their names, and starts its device at the first call that needs one. It
// has one context, whose memory is memory of the process, for all of its devices (SIM_DEVICES): of these it only knows
// which is a thread's and which a stream's. What the environment says: ../core/settings.h, and
//
//   SIM_HIP_VERSION   what hipRuntimeGetVersion() tells (default 50731921: ROCm 5.7). From 70000000 on a call that
//                     succeeds leaves the thread's last error alone; before, it clears it.
//
// Functions that nobody wrote (defaults.cpp) report hipErrorNotSupported, and are logged as well.
#pragma once

#include "backends/hip/hip_headers.h"
#include "test/sim/core/calls.h"
#include "test/sim/streams/objects.h"

#define FACE extern "C" __attribute__((visibility("default"))) hipError_t

namespace sim::hip {

/// SIM_HIP_VERSION.
int version() noexcept;

/// Which device is the calling thread's.
int& device() noexcept;

/// A corner of memory in rows and slices.
inline Box corner(const hipPitchedPtr& memory, const hipPos& position) noexcept {
  const std::size_t slice = memory.pitch * memory.ysize;
  return {address_of(memory.ptr) + position.x + position.y * memory.pitch + position.z * slice, memory.pitch, slice};
}

/// The end of every call: sets the thread's last error.
hipError_t told(hipError_t status) noexcept;
inline hipError_t told(Status status) noexcept {
  return told(static_cast<hipError_t>(status));  // the two agree in their numbers
}

/// The beginning of every call: logs it, starts the device if that was not done, makes it current. With `submission`
/// for calls that submit work, or make something that submitting needs: one of them may be told to fail.
Status begin(const char* name, bool submission) noexcept;

// Not noexcept: a thread that waits may be cancelled.
template <class Body>
hipError_t call(const char* name, bool submission, Body&& body) {
  const Status status = begin(name, submission);
  return told(status == Status::kOk ? body() : status);
}

/// Under the lock. A function of a module, or the program's; null, and a violation, if it is none.
Function* function_for(const void* handle);
/// The arguments of a launch as one block, from one of the two forms.
Status read_arguments(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>* arguments);

}  // namespace sim::hip

// One call that does what the expression, a Status, says.
#define CALL(name, parameters, ...)                                                    \
  FACE name parameters {                                                               \
    return sim::hip::call(#name, false, [&]() -> sim::Status { return __VA_ARGS__; }); \
  }
#define SUBMITS(name, parameters, ...)                                                \
  FACE name parameters {                                                              \
    return sim::hip::call(#name, true, [&]() -> sim::Status { return __VA_ARGS__; }); \
  }
// Functions with a stream exist twice: with the suffix, 0 means the default stream of the thread.
#define SUBMITS_TWICE(name, parameters, ...)                                                 \
  FACE name parameters {                                                                     \
    [[maybe_unused]] constexpr bool per_thread = false;                                      \
    return sim::hip::call(#name, true, [&]() -> sim::Status { return __VA_ARGS__; });        \
  }                                                                                          \
  FACE name##_spt parameters {                                                               \
    [[maybe_unused]] constexpr bool per_thread = true;                                       \
    return sim::hip::call(#name "_spt", true, [&]() -> sim::Status { return __VA_ARGS__; }); \
  }
