// One thread of the layer, which waits nearly always: it signals promises that the engine's threads kept, and
// writes the report that a signal asked for.
#pragma once

namespace refrain::layer::opencl {

/// Starts it. False if there can be none: then nothing may be held.
[[nodiscard]] bool start_helper_thread() noexcept;
/// Async-signal-safe.
void wake_helper_thread() noexcept;
/// Ends it and waits for it. Not after fork().
void stop_helper_thread() noexcept;
/// After fork() in the child: there is no such thread.
void forget_helper_thread() noexcept;

}  // namespace refrain::layer::opencl
