// The report at exit and on a signal (report_signal), and the same as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay/graph/graph_cache.h"
#include "replay/graph/graph_entry.h"
#include "replay/policy/interval_timeline.h"
#include "replay/policy/interval_trial.h"
#include "replay/report/region_totals.h"

namespace refrain::replay {

/// What a submission of a lane takes.
struct LaneTimes {
  std::uint64_t call_ns = 0;  ///< program's and layer's time together, for which the lengths of chunks were chosen
  std::uint64_t hold_ns = 0;  ///< of that, the layer's for one that is held
};

struct ReportData {
  std::string program, process;  ///< what it is called, and which one ("pid 17, rank 2 on n1")
  std::string mode;
  std::string backend;
  double seconds = 0;
  std::uint64_t lanes = 0, submissions = 0, replayed = 0, between = 0, predicted = 0, launches = 0, followed = 0,
                recorded = 0, held_issued = 0, not_ready = 0, expired = 0, taken_back = 0, dormant = 0, stopped = 0,
                cuts = 0, verified = 0, unverified = 0, differences = 0, compared = 0;
  std::map<std::string, std::uint64_t> unholdable;  ///< reason → submissions
  std::map<std::string, std::uint64_t> cut_by;      ///< entry point → stretches it ended
  std::map<std::string, std::uint64_t> unchecked;   ///< reason → replays that verify could not check
  std::vector<std::string> notes;                   ///< of the engine: always told
  std::vector<std::string> device_notes;            ///< Backend::notes(): told where they matter
  std::vector<GraphEntry::Summary> graphs;
  std::vector<std::string> devices;  ///< their names, as graphs number them
  GraphCache::Gone graphs_gone;      ///< what is not among them any more
  std::vector<IntervalSummary> intervals;
  std::vector<RegionSummary> regions;
  std::vector<LaneRuns> timeline;
  std::vector<LaneTimes> times;  ///< of each lane that knows them
  double trial_ms = 0;           ///< spent on building and trying graphs
  double yielded_ms = 0;         ///< of that: threads waited, so that the driver let a build in
};

[[nodiscard]] std::string report_text(const ReportData& data);
[[nodiscard]] std::string report_json(const ReportData& data);

}  // namespace refrain::replay
