// Memory of the host that the device reaches as well: the program may use it at any time, without a call that tells.
#pragma once

#include <span>

#include "capture/operation.h"
#include "replay/verify/page_ranges.h"

namespace refrain::replay {

/// What the operations say that they may write of it, which the program therefore leaves alone while they run: where
/// copies and fills go, and all of an allocation whose address a kernel is given. `host`: the allocations, by address.
[[nodiscard]] Ranges written_of_host(std::span<const capture::OperationView> operations, const Ranges& host);

}  // namespace refrain::replay
