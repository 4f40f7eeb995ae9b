// Runs small programs plain and in every mode, which must print the same and break no rule of the API.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "test/cuda/run_program.h"
#include "test/support/same.h"

namespace contract {

using child::check_clean;
using run_program::kSanitized;
using run_program::Result;
using run_program::run;

using Words = std::vector<std::string>;

/// Graphs of a single operation, for programs that hardly submit two to one stream without an event in between.
inline const std::map<std::string, std::string> kShort{{"REFRAIN_MIN_GRAPH", "1"}};

/// For kernels that wait for others: a device that runs several at once, and takes memory for graphs as real ones do.
inline const std::map<std::string, std::string> kGates{{"SIM_WORKERS", "4"}, {"SIM_GRAPH_MEMORY", "1"}};

/// Runs plain and in all modes, for several orders in which the driver may work; outputs must agree. `least`:
/// operations that must have been replayed with each; `more`: of the environment.
inline void same_everywhere(const Words& program, long least, const std::map<std::string, std::string>& more = {}) {
  CAPTURE(program);
  child::same_everywhere([&](const std::string& mode, int seed) { return run(program, mode, seed, more); }, least);
}

}  // namespace contract
