// A host call that finds nothing held calls the driver behind whoever submitted the last of it.
#include "lane.h"

void watchdog() {
  flush();
}
void host_call() {
  if (engine.held_lanes.load(ANYTHING_HELD) != 0) {
    flush();
  }
  assert(driver_has == 1);
}

int main() {
  hold_one();
  Thread<watchdog> first;
  Thread<host_call> second;
  first.join();
  second.join();
}
