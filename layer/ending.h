// What is to be said before the process ends in a way that runs no exit handlers: _exit(), SIGTERM. Nothing can be done
// where that happens, perhaps in a signal handler with any lock held, so a thread that sleeps until then does it.
#pragma once

namespace refrain::layer {

/// `tell` will run on a thread of its own, once, and the end waits for it, for a while. Nothing happens without the
/// preloaded library of exit_hooks.cpp. False if there can be no such thread.
[[nodiscard]] bool watch_for_end(void (*notify)()) noexcept;
/// Everything was said. Waits for the thread.
void stop_watching_for_end() noexcept;
/// After fork() in the child: there is no such thread.
void forget_end_in_child() noexcept;

}  // namespace refrain::layer
