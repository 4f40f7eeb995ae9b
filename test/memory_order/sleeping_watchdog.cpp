// Who begins to hold sees that the watchdog sleeps, or is seen by its last look (Watchdog::run).
#include "lane.h"

std::uint64_t since = 0;

void watchdog() {
  context.watchdog.awake_.store(false, std::memory_order_seq_cst);
  since = held.since_ns();
}

int main() {
  context.watchdog.awake_.store(true);
  Thread<watchdog> thread;
  hold_one();
  thread.join();
  assert(since == 7 || context.watchdog.awake_.load());
}
