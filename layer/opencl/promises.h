// Events of held operations.
//
// The application gets a real user event, so that even a function nobody knows can use it. Functions
// that Refrain knows are given the event of the submission instead, as soon as there is one. The user
// event's own status is set when that event completes.
//
// Callbacks of the application may run inside clSetUserEventStatus. That is called by threads of the driver and by the
// helper thread only: the application's may hold a lock in any call that its callback takes, too. Fulfilled promises
// are queued, and the driver is asked to tell when they are complete at the end of the entry point, when no lock of
// Refrain is held; what is complete by then, was refused, or was flushed by another thread is handed over to the helper
// thread.
#pragma once

#include <span>

#include "layer/opencl/objects.h"

namespace refrain::layer::opencl {

/// Makes a promise for an operation that is about to be held: registered, one reference for the
/// application, one use for the operation. Null if the driver refuses.
EventState* make_promise(const QueueState& queue, cl_command_type command) noexcept;

/// The held operation was submitted (`event`: one reference, taken over) or refused (`status`).
void fulfil_promise(EventState& promise, Handle event, int status) noexcept;

/// Has the user events set of what this thread, one of the program's, fulfilled. No lock of Refrain may be held.
void signal_promises() noexcept;
/// Sets those that were handed over; called by the helper thread. Calls the program.
void signal_handed_over() noexcept;

/// Drops a use; the last one gives everything back.
void drop_use(EventState& promise) noexcept;

/// What promises of held operations have in common.
void begin_promise(EventState* promise, const QueueState& queue, cl_command_type command) noexcept;

/// A real event was returned to the application by operation `sequence` of `lane`, in that queue.
void register_event(cl_event event, std::uint64_t lane, std::uint64_t sequence, const QueueState& queue) noexcept;

/// The event to name to the driver in place of `event`: itself, or what a kept promise turned into.
[[nodiscard]] cl_event driver_event(cl_event event) noexcept;

/// A wait list as the driver should see it.
class DriverWaits {
 public:
  DriverWaits() noexcept = default;
  ~DriverWaits();
  DriverWaits(const DriverWaits&) = delete;
  DriverWaits& operator=(const DriverWaits&) = delete;
  /// `events` as the application gave them. The result is valid as long as both.
  const cl_event* translate(cl_uint count, const cl_event* events) noexcept;

 private:
  static constexpr cl_uint kFixed = 16;
  cl_event fixed_[kFixed] = {};
  cl_event* many_ = nullptr;
};

}  // namespace refrain::layer::opencl
