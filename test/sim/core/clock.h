// What things cost, and the two clocks: the real one, or with SIM_TIME=virtual one that only costs move.
//
// In virtual time every host thread has a clock of its own, which calls move by what they cost; an operation starts on
// the device when it was submitted and everything before it has ended, and takes its device time. Who waits goes on at
// the end of what was waited for. Independent operations run at the same time, as many as there are.
//
//   SIM_COSTS=submit=2.8us,launch=2us,node=0.9us,update=0.5us,instantiate=5us,query=0.5us,kernel=2us,kernel:scale=3us
//
//   submit       host: one submission            launch       host: one launch of an executable graph
//   update       host: one changed node          instantiate  host: one node of a graph that is instantiated
//   query        host: one query
//   node         device: the least that a node of a graph takes
//   kernel, copy, fill, host   device: an operation of this kind; kernel:NAME one kernel
// Numbers are nanoseconds without a unit; everything that is not named costs nothing, a query 100 ns.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "test/sim/core/task.h"

namespace sim {

struct Costs {
  double submit = 0, launch = 0, update = 0, instantiate = 0, query = 100;  // nanoseconds, all of them
  double node = 0, kernel = 0, copy = 0, fill = 0, host = 0;
  std::map<std::string, double> kernels;
  /// Of one operation on the device.
  [[nodiscard]] double of(const Task& task, bool node_of_graph) const;
};

/// False if the text is not understood; `costs` is then not changed.
bool parse_costs(const std::string& text, Costs* costs);

/// The calling thread's clock in virtual time, nanoseconds. The real one otherwise.
double host_ns() noexcept;
/// The calling thread spent this; nothing in real time.
void spend(double nanoseconds) noexcept;
/// The calling thread has waited until then; nothing in real time.
void spend_until(double nanoseconds) noexcept;

}  // namespace sim
