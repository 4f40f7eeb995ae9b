// One thread of the layer, which waits nearly always: it signals promises where no thread of the driver's does, which
// may call functions of the program, and writes the report that a signal asked for.
#pragma once

namespace refrain::layer::opencl {

/// Starts it. False if there can be none: then nothing may be held.
[[nodiscard]] bool start_helper_thread() noexcept;
/// It was started, and has not been told to end.
[[nodiscard]] bool helper_thread_runs() noexcept;
/// Async-signal-safe.
void wake_helper_thread() noexcept;
/// Ends it and waits for it. Not after fork().
void stop_helper_thread() noexcept;
/// After fork() in the child: there is no such thread.
void forget_helper_thread() noexcept;

}  // namespace refrain::layer::opencl
