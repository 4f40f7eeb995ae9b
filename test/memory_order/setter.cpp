// What is held by what was set before is seen by the setter, or by who held it (Engine::state_changed,
// layer/common/submission.h).
#include "lane.h"

std::atomic<int> is_set{0};
bool by_old_state = false, saw_it = false;

void setter() {
  engine.changes.begin();
  is_set.store(1, std::memory_order_release);
  engine.changes.end();
  engine.gone.fetch_add(1, std::memory_order_seq_cst);
  if (engine.held_lanes.load(FLUSH_OTHERS) != 0) {
    flush();
  }
}
void holder() {
  const std::uint64_t changes = engine.changes.begun();
  by_old_state = is_set.load(std::memory_order_acquire) == 0;
  hold_one();
  if (engine.changes.begun() != changes) {
    flush();
  }
  saw_it = changes != 0;
}

int main() {
  Thread<setter> first;
  Thread<holder> second;
  first.join();
  second.join();
  // One whose call began during the setter's may come before it or behind.
  assert(!by_old_state || saw_it || !held.any());
}
