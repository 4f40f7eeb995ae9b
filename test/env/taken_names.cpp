// Functions of a program's own with names of the C library's, which the language leaves to programs: they are POSIX's
// and the system's. Left out is what drivers and compilers of this test call themselves.
#include <cstdio>

namespace {

int taken(const char* name) {
  std::printf("%s: the program's own\n", name);
  std::fflush(stdout);
  return 7;
}

}  // namespace

// Headers may declare them in other words: these are names for the linker only.
#define OWN(name)                                                 \
  [[gnu::visibility("default")]] int own_##name() __asm__(#name); \
  int own_##name() {                                              \
    return taken(#name);                                          \
  }
OWN(accept4)
OWN(bind)
OWN(fchmod)
OWN(getsockopt)
OWN(listen)
OWN(pause)
OWN(poll)
OWN(pthread_setname_np)
OWN(recv)
OWN(sem_clockwait)
OWN(sem_destroy)
OWN(sem_init)
OWN(sem_post)
OWN(sem_trywait)
OWN(sem_wait)
OWN(send)
OWN(setpriority)
OWN(shutdown)
OWN(socket)
#ifndef USES_OPENCL  // whose compiler has need of them
OWN(fstat)
OWN(ftruncate)
OWN(getauxval)
OWN(getrlimit)
OWN(mkostemp)
OWN(openat)
OWN(pread)
OWN(sched_getaffinity)
#endif
