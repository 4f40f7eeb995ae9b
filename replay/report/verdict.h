// The first line of a report: did it help, how much, and if not, why.
#pragma once

#include <cstdint>
#include <string>

#include "replay/report/report.h"

namespace refrain::replay {

/// "saved about 1.9 s of 14.3 s (13 %)", or why nothing was gained and what could be done. Estimated from what was
/// measured: of each sync interval, what it takes eagerly and with graphs, times how often it came.
[[nodiscard]] std::string verdict_of(const ReportData& data);

/// What submitting took less by graphs, in nanoseconds: of each graph what its launches cost, against the same work
/// eagerly. It says nothing of when the device was done. 0: not measured, or too little to be told.
[[nodiscard]] std::uint64_t submission_saved_ns(const ReportData& data);

}  // namespace refrain::replay
