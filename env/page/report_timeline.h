// The timeline in a report, as the page's timeline takes it.
#pragma once

#include <nlohmann/json.hpp>

namespace refrain::page {

/// As timeline_data() in its exact form, with "from": "report", states 4 (with graphs), 5 (without) and 6 (waits), and
/// for each lane "states": [[intervals, ns] of each of these three]. Null: `report` has none. Lanes that make no sense
/// are left out.
nlohmann::json report_timeline(const nlohmann::json& report);

}  // namespace refrain::page
