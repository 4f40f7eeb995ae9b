// A program that has functions of its own with names of the C library's: the language gives it those that are POSIX's
// and the system's. Exit code 5 after its work, 1 if it waited in vain. Knows nothing of Refrain.
#include <time.h>

#include <cstdio>
#include <string>

#include "test/portable/device.h"
#include "test/portable/kernels.h"

namespace {

using namespace portable;

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

namespace {

/// Eight launches and a wait, a few hundred times. With `looks` the host now and then looks at the memory instead of
/// waiting, for 4 s at most by no clock.
int work(bool looks) {
  const std::unique_ptr<Device> device = make_device();
  Queue* const queue = device->make_queue(QueueKind::kInOrder);
  Memory* const memory = device->allocate(Place::kPinned, 64 * sizeof(Word));
  Kernel* const kernel = device->find_kernel("scale");
  const Word none[64] = {};
  device->write(queue, {memory, 0}, none, sizeof(none));
  device->synchronize(queue);
  const auto* const word = reinterpret_cast<const volatile Word*>(device->host(memory));
  for (int round = 1; round <= 400; ++round) {
    for (int launch = 0; launch < 8; ++launch) {
      scale(*device, queue, kernel, memory, 64, 1, 1);
    }
    const timespec pause{0, 100'000};
    for (int waited = 0; looks && round % 20 == 0 && *word != 8U * round; ++waited) {
      if (waited == 40'000) {
        std::printf("stuck in round %d\n", round);
        return 1;
      }
      ::nanosleep(&pause, nullptr);
    }
    device->synchronize(queue);
  }
  std::printf("result %u\n", *word);
  return 5;
}

}  // namespace

int main(int count, char** words) {
  return work(count > 1 && std::string(words[1]) == "looks");
}
