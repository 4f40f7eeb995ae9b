// For tests of the interval gate: a program that does the same interval again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "replay/graph/graph_entry.h"
#include "replay/policy/interval_trial.h"

namespace refrain::replay {

/// Intervals of ten submissions, if nothing else is said, the same each time.
struct Intervals {
  explicit Intervals(std::uint32_t plans) { gate.configure(true, plans); }

  /// One interval; `cost` says how long it takes in the turn that it has. `has_graphs`: whether graphs run in it.
  template <class Cost>
  void run(Cost&& cost, bool has_graphs) {
    for (capture::Token token = 1; token <= submissions; ++token) {
      gate.submitted(token, now);
    }
    for (int i = 0; has_graphs && i < launches; ++i) {
      gate.launched(entry);
    }
    now += cost(gate.eager_turn(), gate.plan());
    gate.waiting(now - waits);
    const bool as_before = gate.waited_as_before(now);  // as a lane does it
    unlooked += as_before ? 1 : 0;
    lost += as_before ? 0 : gate.waited(now, may_lose);
    now += 100;
  }
  template <class Cost>
  void run_fairly(Cost&& cost, int intervals) {
    for (int i = 0; i < intervals; ++i) {
      const bool ready = entry->state() != GraphEntry::State::kBypassing && !gate.eager_turn();
      replayed += ready ? 1 : 0;
      run(cost, ready);
    }
  }

  IntervalTrial gate;
  std::shared_ptr<GraphEntry> entry = std::make_shared<GraphEntry>(1, std::vector<Token>{1, 2}, GraphEntry::Limits{});
  std::uint64_t now = 1000;
  int replayed = 0;
  int unlooked = 0;
  int launches = 1;
  bool may_lose = true;
  capture::Token submissions = 10;
  std::uint64_t waits = 0;  ///< how long at the end of each interval
  std::int64_t lost = 0;
};

}  // namespace refrain::replay
