// For what an API forbids while work is in flight: a face calls these before it does what was asked for. Each is true
// if that is allowed, and a violation that names `call` and the work otherwise. What to do then is the face's choice:
// most APIs leave it undefined.
#pragma once

#include "test/sim/core/graph.h"

namespace sim {

/// Nothing of it is in flight: a queue or context that is destroyed, a kernel object that is changed or destroyed.
bool must_be_idle(const Lock& lock, const OpenRef& open, const char* call);
/// No instance of it is: a command list that is reset, a mutable one that is changed.
bool must_be_idle(const Lock& lock, const Exec& exec, const char* call);
/// No work in flight waits for it, sets it or resets it: an event that the host resets or destroys.
bool must_be_unused(const Lock& lock, const Signal& signal, const char* call);

}  // namespace sim
