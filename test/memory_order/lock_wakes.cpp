// Whether a sleeper's wake-up can be missed. It can, which is why nobody sleeps for longer than 50 us at a time: `run`
// expects that this fails, and that it does not where both stores and both loads are seq_cst.
#include <cstddef>

#define SLEEPS_FOR_GOOD

#include "replay/runtime/owner_lock.cpp"
#include "threads.h"

refrain::replay::OwnerLock lock;

void wait() {
  lock.lock();
}

int main() {
  lock.lock();
  Thread<wait> waiter;
  lock.unlock();
  waiter.join();
  assert(asleep.load() == 0 || woken.load() == 1);
}
