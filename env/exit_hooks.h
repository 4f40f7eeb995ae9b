// What the preloaded library of layer/exit_hooks.cpp has for the layers. It may not be there: who uses one of them says
// "#pragma weak" of it. (dlsym() needs memory where it finds nothing, and without any some C libraries crash later.)
#pragma once

#include <sched.h>

#define REFRAIN_HOOK __attribute__((visibility("default")))

/// Standard error as it was when the process started.
struct RefrainStderr {
  int open;
  unsigned long device, inode;
};

extern "C" {
/// `callback` runs before this process ends by _exit() or a signal, once. It may be called in a signal handler, in any
/// thread.
void refrain_at_end(void (*callback)());
void refrain_forget_end(void (*callback)());
const RefrainStderr* refrain_stderr_at_start();
/// Of those that the process may use, the ones that it was given when it started. Null if that is not known.
const cpu_set_t* refrain_processors_at_start();
}
