// The timeline in a report, as the page's timeline takes it.
#pragma once

#include <nlohmann/json.hpp>

namespace refrain::page {

/// As timeline_data() in its exact form, with "from": "report" and states 4 (with graphs), 5 (without) and 6 (waits).
/// Each lane has "states": [[intervals, ns] of each of these three], and sums of what became of its submissions. Behind
/// each name is how many submissions of the interval were in graphs, were held but issued one by one, and were eager
/// (null: it is a wait). "chunks" has a row for each change of the lengths of chunks, those of a lane one after the
/// other. Null: `report` has none. Lanes that make no sense are left out.
nlohmann::json report_timeline(const nlohmann::json& report);

}  // namespace refrain::page
