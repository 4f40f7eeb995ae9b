// With SIM_CROWD=1: a driver that threads which launch share, and that other calls want for themselves. As NVIDIA's 580
// was seen to do (docs/decisions/0005-builds-get-the-right-of-way.md), whoever only shares it goes first, so that the
// others may wait for as long as enough threads launch. With SIM_GRAPH_MEMORY=1 each instantiation takes memory for
// graphs, before which it waits for all graphs that run (test/gpu/busy_calls.cu).
#pragma once

#include <mutex>
#include <shared_mutex>

namespace sim {

/// A call that may be inside the driver together with its like. It takes its time there.
class AmongOthers {
 public:
  AmongOthers();

 private:
  std::shared_lock<std::shared_mutex> inside_;
};

/// A call that nobody else may be inside the driver with.
class Alone {
 public:
  Alone();

 private:
  std::unique_lock<std::shared_mutex> inside_;
};

}  // namespace sim
