// The timeline in a report, as the page's timeline takes it.
#pragma once

#include <nlohmann/json.hpp>

namespace refrain::page {

/// As timeline_data() in its exact form, with "from": "report", states 4 (with graphs), 5 (without) and 6 (waits); for
/// each lane "states": [[intervals, ns] of each of these three], and sums of what became of submissions; and behind each
/// name how many of its submissions were in graphs, were held but issued one by one, and were eager (null: it is a wait).
/// Null: `report` has none. Lanes that make no sense are left out.
nlohmann::json report_timeline(const nlohmann::json& report);

}  // namespace refrain::page
