// What every program of these tests must do: print the same plain and in every mode, and break no rule of the API.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "test/level_zero/run_program.h"
#include "test/support/same.h"

namespace run_program {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

using child::check_clean;

/// Runs plain and in all modes, for several orders in which the driver may work; outputs must agree. `least`:
/// operations that must have been replayed with each.
void same_everywhere(const Words& program, long least, const Variables& more = {});

/// With and without the extensions that lists are appended and changed with.
void same_both_ways(const Words& program, long least);

}  // namespace run_program
