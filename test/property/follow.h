// Follows a program to find out what comes after what.
#pragma once

#include <set>

#include "test/property/program.h"

namespace property {

/// Follows the program once, with the events that its steps have so far, and gives events to steps where the order of
/// two that conflict is not certain yet. `own_events`: ids of the steps that may not share their queue's event; grows.
/// Returns true if something was changed: then it is to be followed again.
bool follow(Program& program, std::set<int>& own_events);

}  // namespace property
