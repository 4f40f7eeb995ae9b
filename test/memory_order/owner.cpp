// With nothing held a lane's own thread works without the lock, behind whoever flushed; and again.
#include "lane.h"

void other() {
  flush();
}

int main() {
  hold_one();
  Thread<other> flusher;
  if (held.any()) {
    flush();
  } else {
    assert(held.size() == 0 && held.queues().empty());
    held.note_error(1);
  }
  assert(driver_has == 1);
  hold_one();
  flusher.join();
  flush();
  assert(driver_has == 2 && engine.held_lanes.load() == 0 && queue.holder.load() == nullptr);
}
