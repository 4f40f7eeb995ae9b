// The race detector: two operations use the same bytes, one of them writes, and neither happens before the other by
// anything that the program did (order of queues, events, edges, barriers, waits of the host). A race is a violation
// whatever order the schedule chose.
//
// What counts as order besides edges: work that the host saw the end of (a wait, a query that said so, a host function
// that ran, a kernel whose end the host sees) comes before everything submitted afterwards, by any thread: what
// threads tell each other is not visible here. Not seen either: the program's own reads and writes of host memory.
#pragma once

#include "test/sim/core/order.h"
#include "test/sim/core/task.h"

namespace sim {

/// An operation with this past starts, at `self`. Under the lock.
void check_races(const Accesses& accesses, const Past& past, const Place& self, const char* name);
/// Memory that begins or ends to exist: what was done there does not matter any more. Under the lock.
void forget_accesses(Address start, std::size_t bytes);

}  // namespace sim
