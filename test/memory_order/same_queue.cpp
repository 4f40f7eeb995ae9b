// A submission to the queue that another lane held work for comes behind that in the driver.
#include "lane.h"

void watchdog() {
  flush();
}
void submit() {
  if (queue.holder.load(FLUSH_HOLDER) != nullptr) {
    flush();
  }
  assert(driver_has == 1);
}

int main() {
  hold_one();
  Thread<watchdog> first;
  Thread<submit> second;
  first.join();
  second.join();
}
