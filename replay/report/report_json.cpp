// The report for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "replay/report/report_facts.h"
#include "replay/report/verdict.h"

namespace refrain::replay {

namespace {

const char* name_of(ChunkChange::Why why) {
  switch (why) {
    case ChunkChange::Why::kStart: return "start";
    case ChunkChange::Why::kProfile: return "profile";
    case ChunkChange::Why::kPace: return "pace";
    case ChunkChange::Why::kNew: return "new interval";
    case ChunkChange::Why::kTrial: return "trial";
    case ChunkChange::Why::kChosen: return "chosen";
    case ChunkChange::Why::kHandedOn: return "handed on";
  }
  return "unknown";
}

/// `first_ns`: when the first interval of all began.
nlohmann::json chunks_json(const LaneRuns& lane, std::uint64_t first_ns) {
  nlohmann::json all = nlohmann::json::array();
  for (const ChunkChange& change : lane.chunks) {
    all.push_back({{"at_ns", change.at_ns - std::min(change.at_ns, first_ns)},
                   {"plan", change.plan},
                   {"first", change.lengths.first},
                   {"growth", change.lengths.growth},
                   {"longest", change.lengths.most},
                   {"last", change.lengths.last},
                   {"why", name_of(change.why)}});
  }
  return all;
}

/// A column for each number: rows of names would be most of the file. Times begin with the first interval of all.
nlohmann::json timeline_json(const std::vector<LaneRuns>& lanes) {
  std::uint64_t first_ns = ~std::uint64_t{0};
  for (const LaneRuns& lane : lanes) {
    first_ns = lane.runs.empty() ? first_ns : std::min(first_ns, lane.runs.front().begin_ns);
  }
  nlohmann::json all = nlohmann::json::array();
  for (const LaneRuns& lane : lanes) {
    nlohmann::json& told =
        all.emplace_back(nlohmann::json{{"lane", lane.lane}, {"left_out", lane.left_out}, {"hold_ns", lane.hold_ns}});
    told["chunks"] = chunks_json(lane, first_ns);
    told["chunks_left_out"] = lane.chunks_left_out;
    for (const char* name :
         {"begin_ns", "waiting_ns", "end_ns", "submissions", "in_graphs", "held_issued", "launches", "how"}) {
      told[name] = nlohmann::json::array();
    }
    for (const IntervalRun& run : lane.runs) {
      told["begin_ns"].push_back(run.begin_ns - first_ns);
      told["waiting_ns"].push_back(run.waiting_ns - first_ns);
      told["end_ns"].push_back(run.end_ns - first_ns);
      told["submissions"].push_back(run.submissions);
      told["in_graphs"].push_back(run.in_graphs);
      told["held_issued"].push_back(run.held_issued);
      told["launches"].push_back(run.launches);
      told["how"].push_back(static_cast<int>(run.how));
    }
  }
  return all;
}

}  // namespace

std::string report_json(const ReportData& data) {
  nlohmann::json root;
  root["verdict"] = verdict_of(data);
  root["program"] = data.program;
  root["process"] = data.process;
  root["mode"] = data.mode;
  root["backend"] = data.backend;
  root["seconds"] = data.seconds;
  root["lanes"] = data.lanes;
  root["submissions"] = data.submissions;
  root["replayed"] = data.replayed;
  root["share_replayed"] = percent_of(data.replayed, data.submissions) / 100.0;
  root["launches"] = data.launches;
  root["predicted"] = data.predicted;
  root["followed"] = data.followed;
  root["recorded"] = data.recorded;
  root["between_parts"] = data.between;
  root["held_issued"] = data.held_issued;
  root["held_not_ready"] = data.not_ready;
  root["expired"] = data.expired;
  root["taken_back"] = data.taken_back;
  root["dormant"] = data.dormant;
  root["stopped"] = data.stopped;
  root["cuts"] = data.cuts;
  root["verified"] = data.verified;
  root["unverified"] = data.unverified;
  root["compared_bytes"] = data.compared;
  root["differences"] = data.differences;
  root["trial_ms"] = data.trial_ms;
  root["yielded_ms"] = data.yielded_ms;
  root["unholdable"] = data.unholdable;
  root["cut_by"] = data.cut_by;
  root["unchecked"] = data.unchecked;
  root["notes"] = data.device_notes;
  for (const std::string& note : data.notes) {
    root["notes"].push_back(note);
  }
  auto& reasons = root["not_replayed"] = nlohmann::json::array();
  for (const NotReplayed& row : not_replayed(data)) {
    reasons.push_back({{"submissions", row.submissions}, {"why", row.why}, {"advice", row.advice}});
  }
  auto& times = root["times"] = nlohmann::json::array();
  for (const LaneTimes& lane : data.times) {
    times.push_back({{"call_ns", lane.call_ns}, {"hold_ns", lane.hold_ns}});
  }
  auto& regions = root["regions"] = nlohmann::json::array();
  for (const RegionSummary& region : data.regions) {
    regions.push_back({{"name", region.name},
                       {"entered", region.entered},
                       {"submissions", region.submissions},
                       {"replayed", region.replayed}});
  }
  root["timeline"] = timeline_json(data.timeline);
  auto& intervals = root["sync_intervals"] = nlohmann::json::array();
  for (const IntervalSummary& interval : told_intervals(data)) {
    nlohmann::json entry;
    entry["submissions"] = interval.submissions;
    entry["seen"] = interval.seen;
    entry["state"] = state_name(interval.state);
    entry["reason"] = interval.reason;
    entry["eager_us"] = us(interval.eager_ns);
    entry["eager_samples"] = interval.eager_samples;
    entry["saved_us"] = us(interval.saved_ns);
    entry["plan"] = interval.plan;
    for (const IntervalSummary::Plan& plan : interval.plans) {
      entry["plans"].push_back({{"us", us(plan.ns)}, {"samples", plan.samples}, {"in_graphs", plan.in_graphs}});
    }
    intervals.push_back(std::move(entry));
  }
  auto& devices = root["devices"] = nlohmann::json::array();
  for (const DeviceSummary& device : by_device(data)) {
    if (devices.size() < data.devices.size()) {
      devices.push_back({{"name", device.name},
                         {"graphs", device.graphs},
                         {"launched", device.launched},
                         {"operations", device.operations},
                         {"memory_bytes", device.memory}});
    }
  }
  root["graphs_gone"] = {{"count", data.graphs_gone.entries},
                         {"launched", data.graphs_gone.launched},
                         {"saved_us", us(data.graphs_gone.saved_ns)}};
  auto& graphs = root["graphs"] = nlohmann::json::array();
  for (const auto& graph : data.graphs) {
    nlohmann::json entry;
    entry["graph"] = graphs.size();
    entry["fingerprint"] = fmt::format("{:016x}", graph.fingerprint);
    entry["operations"] = graph.operations;
    entry["what"] = graph.what;
    entry["device"] = graph.device < data.devices.size() ? nlohmann::json(graph.device) : nlohmann::json();
    entry["state"] = state_name(graph);
    entry["reason"] = reason_of(graph);
    entry["recorded"] = graph.recorded;
    entry["bypassed"] = graph.bypassed;
    entry["launched"] = graph.launched;
    entry["as_predicted"] = graph.as_predicted;
    entry["found"] = graph.found;
    entry["changed"] = graph.changed;
    entry["changed_operations"] = graph.changed_operations;
    entry["mismatched"] = graph.mismatched;
    entry["too_early"] = graph.too_early;
    entry["builds"] = graph.builds;
    entry["variants"] = graph.variants;
    entry["parts"] = graph.parts;
    entry["native_nodes"] = graph.native_nodes;
    entry["memory_bytes"] = graph.memory;
    entry["eager_us"] = us(graph.eager_ns);
    entry["replay_us"] = us(graph.replay_ns);
    entry["interval_eager_us"] = us(graph.interval_eager_ns);
    entry["interval_replay_us"] = us(graph.interval_replay_ns);
    entry["saved_us"] = us(graph.saved_ns);
    graphs.push_back(std::move(entry));
  }
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace refrain::replay
