// What the environment says about the simulated device; the same for all faces.
//
//   SIM_LOG       file that gets every call, one line each: the exported name, and what makes calls of it differ
//   SIM_SEED      number that decides in which order work that is ready is done, and whether addresses of destroyed
//                 handles and freed memory come back at once (even) or never (odd)
//   SIM_FAIL_AT   number of the submission-like call, from 1, that fails as if the device had no resources left
//   SIM_FAIL_COUNT  how many of them fail, from that one on (default 1)
//   SIM_FAIL_CALL number of the call of whatever kind, from 1, that fails in the same way
//   REFUSAL_FILE  what the program says it wants refused while it runs (test/support/refusal.h)
//   SIM_END_AT    number of the submission-like call at which the driver registers a handler of exit() that ends it:
//   every
//                 later call fails
//   SIM_COUNT     file that gets the number of submission-like calls at exit, and that of all
//   SIM_KERNELS   side libraries with kernels (kernel.h), separated by colons, beside the built-in ones
//   SIM_HISTORY   how many of the last calls and submissions a violation shows (default 24, at most 4096)
//   SIM_RACES     0: no race detector (races.h)
//   SIM_UNRECORDED  1: a wait of the host or a stream for an event that was never recorded is a violation, though CUDA
//                 and HIP allow it (it waits for nothing)
//   SIM_DEVICES   how many devices there are (default 1); memory of all of them is the process's
//   SIM_WORKERS   how many threads do the work (default 1)
//   SIM_LAZY      1: an operation is done only while the host waits, or asks (one for each query), or after a pause;
//                 what nobody waited for stays unfinished
//   SIM_LINGER    1: calls take their time now and then before and after the driver does what they say, so that other
//                 threads get in between
//   SIM_GRAPH_MEMORY  1: who instantiates a graph waits for those that run, and nobody launches meanwhile (crowd.h;
//                 CUDA only)
//   SIM_POOL      how many bytes there are in all pools together for memory that is allocated in the order of a stream
//                 (default: any number)
//   SIM_POOL_WAITS  1: such an allocation may get memory whose free in another stream was not done yet, and waits for
//                 that, as drivers do that are not told otherwise
//   SIM_CROWD     1: calls that want the driver for themselves wait while any thread launches (crowd.h; CUDA only)
//   SIM_TIME      "virtual": work is done in calls that wait or query, step by step, in an order that depends on the
//                 seed alone (with one host thread); times are those of SIM_COSTS. Who looks at memory without a call
//                 waits for ever.
//   SIM_COSTS     what things cost (clock.h)
//   CUDA_LAUNCH_BLOCKING, HIP_LAUNCH_BLOCKING, AMD_SERIALIZE_KERNEL  as for the real ones: a launch of a kernel is done
//                 when it returns
//   SIM_WRONG     what the device does otherwise with the node in the middle of each graph:
//                 "skipped"; "repeats": the node before it once more; "early": the one behind it instead; "stale":
//                 arguments of the time when the graph was made; "argument": another last one; "shape": a thread less;
//                 "attribute": one that was not set; "bytes": half of them; "rows": one less; "pattern": another one
//   SIM_CALL_US   a submission-like call takes so many microseconds of its thread, as a real driver's does (default 0)
//   SIM_STUCK     a function that never returns to threads whose names begin with "refrain-"
//   SIM_PATIENCE  seconds after which a wait that nothing can end is a violation, and fails (default 20)
#pragma once

#include <cstdint>
#include <string>

#include "test/sim/core/clock.h"

namespace sim {

struct Settings {
  std::string log;
  std::uint64_t seed = 0;
  std::uint64_t fail_at = 0;
  std::uint64_t fail_count = 1;
  std::uint64_t fail_call = 0;
  std::uint64_t end_at = 0;
  std::string count;
  std::string kernels;
  std::string stuck;
  std::uint64_t history = 24;
  bool races = true;
  bool unrecorded = false;
  int devices = 1;
  unsigned workers = 1;
  bool lazy = false;
  bool linger = false;
  bool crowd = false;
  bool graph_memory = false;
  std::uint64_t pool = ~std::uint64_t{0};
  bool pool_waits = false;
  bool virtual_time = false;
  Costs costs;
  bool blocking = false;  ///< CUDA_LAUNCH_BLOCKING, HIP_LAUNCH_BLOCKING or AMD_SERIALIZE_KERNEL
  std::string wrong;
  double call_us = 0;
  double patience_s = 20;
};

/// Those of the environment, read at the first use.
const Settings& settings() noexcept;

/// For tests inside one process: other settings from now on. Nothing may be in flight, and no other thread inside.
void configure(const Settings& changed);

inline bool reuses_addresses() noexcept {
  return settings().seed % 2 == 0;
}

}  // namespace sim
