// OwnerLock lets one thread in at a time, and who comes in sees what the last one did.
#include <cstddef>

#include "replay/runtime/owner_lock.cpp"
#include "threads.h"

refrain::replay::OwnerLock lock;
int inside = 0;

void work() {
  lock.lock();
  ++inside;
  lock.unlock();
}

int main() {
  Thread<work> first, second;
  first.join();
  second.join();
  assert(inside == 2);
}
