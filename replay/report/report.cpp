#include "replay/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "env/escape.h"
#include "replay/report/verdict.h"

namespace refrain::replay {

namespace {

constexpr std::size_t kMostLines = 8;  // limit

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double us(std::uint64_t ns) {
  return static_cast<double>(ns) / 1000.0;
}

std::vector<std::pair<std::string, std::uint64_t>> most_first(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

/// False where submissions are watched only.
bool replays(const ReportData& data) {
  return data.mode == "replay" || data.mode == "verify";
}

/// What became of a graph in the end, whatever is being tried at this moment.
const char* state_name(const GraphEntry::Summary& graph) {
  return graph.state == GraphEntry::State::kBypassing ? "declined" : graph.launched != 0 ? "replaying" : "waiting";
}

/// Of that state; empty: it needs none.
std::string reason_of(const GraphEntry::Summary& graph) {
  if (graph.state == GraphEntry::State::kBypassing) {
    return graph.reason;
  }
  if (graph.launched != 0) {
    return "";
  }
  return !graph.reason.empty() ? graph.reason : "it has not come often enough to be judged";
}

const char* state_name(IntervalSummary::State state) {
  switch (state) {
    case IntervalSummary::State::kTrial: return "on trial";
    case IntervalSummary::State::kReplaying: return "replaying";
    case IntervalSummary::State::kDeclined: return "declined";
  }
  return "unknown";
}

void add_summary(std::string* text, const ReportData& data) {
  auto out = std::back_inserter(*text);
  fmt::format_to(out, "report ({}, {}, {:.2f} s) of {} ({}): {}\n", data.mode, data.backend, data.seconds,
                 env::escaped(data.program), data.process, verdict_of(data));
  fmt::format_to(out, "  submissions {}, replayed {} ({:.1f} %) in {} launches", data.submissions, data.replayed,
                 share(data.replayed, data.submissions), data.launches);
  std::uint64_t saved = data.graphs_gone.saved_ns;
  for (const auto& graph : data.graphs) {
    saved += graph.saved_ns;
  }
  if (saved != 0) {
    fmt::format_to(out, ", {:.1f} ms of submission saved", us(saved) / 1000.0);
  }
  *text += '\n';
  if (data.mode == "verify") {
    fmt::format_to(out, "  verify checked {} replays, {} differences; {} could not be checked\n",
                   data.verified + data.differences, data.differences, data.unverified);
    if (data.verified != 0) {
      fmt::format_to(out,
                     "    {} replays are proven to change memory as eager execution does: {} KiB of it in the mean\n",
                     data.verified, data.compared / data.verified / 1024);
    }
    for (const auto& [why, times] : data.unchecked) {
      fmt::format_to(out, "    {:10}  {}\n", times, why);
    }
  }
  for (const std::string& note : data.notes) {
    fmt::format_to(out, "  {}\n", env::escaped(note));
  }
}

struct NumberedGraph {
  std::size_t number = 0;  ///< its place in the report's JSON
  const GraphEntry::Summary* graph = nullptr;
};

void add_line(std::string* text, const NumberedGraph& numbered) {
  const GraphEntry::Summary& graph = *numbered.graph;
  auto out = std::back_inserter(*text);
  const std::uint64_t seen = graph.recorded + graph.bypassed + graph.launched;
  fmt::format_to(out, "    graph {}, {}: {} operation{}, came {} times, ", numbered.number,
                 graph.what.empty() ? fmt::format("{:016x}", graph.fingerprint) : env::escaped(graph.what),
                 graph.operations, graph.operations == 1 ? "" : "s", seen);
  if (graph.launched != 0 && graph.state != GraphEntry::State::kBypassing) {
    fmt::format_to(out, "replayed {}", graph.launched);
  } else {
    *text += state_name(graph);
  }
  if (graph.eager_ns != 0 && graph.replay_ns != 0) {
    fmt::format_to(out, "; {:.1f} us to submit eagerly, {:.1f} us as a graph", us(graph.eager_ns), us(graph.replay_ns));
  }
  const std::string reason = reason_of(graph);
  fmt::format_to(out, "{}{}\n", reason.empty() ? "" : ": ", reason);
}

void add_line(std::string* text, const IntervalSummary& interval) {
  const std::uint64_t with = interval.plans[interval.plan].ns;
  fmt::format_to(std::back_inserter(*text),
                 "    {} submissions, seen {} times, {}: {:.1f} us eagerly, {:.1f} us with graphs ({:.2f}x)\n",
                 interval.submissions, interval.seen, state_name(interval.state), us(interval.eager_ns), us(with),
                 static_cast<double>(interval.eager_ns) / static_cast<double>(with));
}

void add_line(std::string* text, const RegionSummary& region) {
  fmt::format_to(std::back_inserter(*text), "    {:<30} entered {} times, submissions {}, replayed {:.1f} %\n",
                 env::escaped(region.name), region.entered, region.submissions,
                 share(region.replayed, region.submissions));
}

/// A line for each of the first ones, and one that says how many more there are.
template <class Item>
void add_first(std::string* text, const std::vector<Item>& items) {
  for (std::size_t i = 0; i < std::min(items.size(), kMostLines); ++i) {
    add_line(text, items[i]);
  }
  if (items.size() > kMostLines) {
    fmt::format_to(std::back_inserter(*text), "    … and {} more (all of them: report_file)\n",
                   items.size() - kMostLines);
  }
}

void add_graphs(std::string* text, const ReportData& data) {
  if (!replays(data)) {
    return;
  }
  std::vector<NumberedGraph> graphs;
  for (const GraphEntry::Summary& graph : data.graphs) {
    graphs.push_back({graphs.size(), &graph});
  }
  std::stable_sort(graphs.begin(), graphs.end(),
                   [](const auto& a, const auto& b) { return a.graph->weight() > b.graph->weight(); });
  const auto used =
      std::count_if(data.graphs.begin(), data.graphs.end(), [](const auto& graph) { return graph.launched != 0; });
  const auto declined = std::count_if(data.graphs.begin(), data.graphs.end(),
                                      [](const auto& graph) { return graph.state == GraphEntry::State::kBypassing; });
  auto out = std::back_inserter(*text);
  fmt::format_to(out, "  repeating stretches {}: {} replayed at least once, {} declined in the end\n", graphs.size(),
                 used, declined);
  if (data.graphs_gone.entries != 0) {
    fmt::format_to(out,
                   "    … and {} before them, launched {} times, that were given up: their kernels or queues are gone, "
                   "or they had not come for long\n",
                   data.graphs_gone.entries, data.graphs_gone.launched);
  }
  add_first(text, graphs);
}

/// What there is of graphs on one device.
struct DeviceSummary {
  std::string name;
  std::uint64_t graphs = 0, launched = 0, operations = 0;  ///< graphs that were launched; operations in all launches
  std::size_t memory = 0;                                  ///< of all graphs, in bytes

  void add(const GraphEntry::Summary& graph) {
    graphs += graph.launched != 0 ? 1 : 0;
    launched += graph.launched;
    operations += graph.launched * graph.operations;
    memory += graph.memory;
  }
};

/// The last one: of graphs with work of several devices.
std::vector<DeviceSummary> by_device(const ReportData& data) {
  std::vector<DeviceSummary> devices;
  for (const std::string& name : data.devices) {
    devices.emplace_back().name = name;
  }
  devices.emplace_back().name = "several devices";
  for (const GraphEntry::Summary& graph : data.graphs) {
    devices[std::min<std::size_t>(graph.device, data.devices.size())].add(graph);
  }
  return devices;
}

/// Only if there is more than one.
void add_devices(std::string* text, const ReportData& data) {
  if (data.devices.size() < 2 || !replays(data)) {
    return;
  }
  *text += "  on each device:\n";
  std::size_t number = 0;
  for (const DeviceSummary& device : by_device(data)) {
    if (const bool of_one = number < data.devices.size(); of_one || device.launched != 0) {
      fmt::format_to(std::back_inserter(*text), "    {}{}: {} graph{}, launched {} times, {} operations, {} KiB\n",
                     of_one ? fmt::format("{} ", number) : "", env::escaped(device.name), device.graphs,
                     device.graphs == 1 ? "" : "s", device.launched, device.operations, device.memory / 1024);
    }
    ++number;
  }
}

/// Nothing if not everything was measured.
void add_intervals(std::string* text, std::vector<IntervalSummary> intervals) {
  std::erase_if(intervals, [](const IntervalSummary& interval) {
    return interval.eager_ns == 0 || interval.plans[interval.plan].ns == 0;
  });
  if (intervals.empty()) {
    return;
  }
  std::stable_sort(intervals.begin(), intervals.end(),
                   [](const auto& a, const auto& b) { return a.submissions * a.seen > b.submissions * b.seen; });
  *text += "  sync intervals, from the first submission to the end of the wait:\n";
  add_first(text, intervals);
}

void add_regions(std::string* text, const ReportData& data) {
  if (!data.regions.empty()) {
    *text += "  regions that the program named, with those inside them:\n";
    add_first(text, data.regions);
  }
}

struct NotReplayed {
  std::uint64_t submissions = 0;
  std::string why;
  std::string advice;  ///< empty: none
};

/// All that was not replayed, each submission once, what is most first; what was never there is left out.
std::vector<NotReplayed> not_replayed(const ReportData& data) {
  std::vector<NotReplayed> rows;
  std::uint64_t left = data.submissions - std::min(data.submissions, data.replayed);
  const auto row = [&](std::uint64_t count, std::string why, std::string advice = {}) {
    if (count != 0) {
      rows.push_back({count, std::move(why), std::move(advice)});
    }
    left -= std::min(left, count);
  };
  replays(data)
      ? row(data.followed, "in a stretch that was declined or not ready (above)", "each declined graph says why")
      : row(data.followed, "repeats: replay would make graphs of it", "refrain run without --mode");
  row(data.recorded, "while a stretch was being recorded", "a longer run: it is learnt once");
  row(data.between, "between the parts of graphs: events, and what is too short for a part");
  row(data.dormant, "while the thread was dormant: nothing had paid for a long time before");
  row(data.stopped, "while Refrain was stopped: refrain_stop(), refrain ctl, or start = off", "refrain ctl PID start");
  for (const auto& [reason, count] : most_first(data.unholdable)) {
    row(count, reason);
  }
  row(data.not_ready, "held, but the graph of it was being made, still ran, or has other arguments");
  row(data.held_issued - std::min(data.held_issued, data.not_ready),
      fmt::format("held, but the sequence went on differently, or the hold limit came ({} times)", data.expired),
      data.expired == 0 ? "submit the same operations in the same order each time"
                        : "--hold-limit-us with a longer time");
  row(left, "not part of a stretch that repeats between host calls",
      "refrain run -o app.rfn, then refrain dump --explain app.rfn");
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.submissions > b.submissions; });
  return rows;
}

void add_not_replayed(std::string* text, const ReportData& data) {
  const std::vector<NotReplayed> rows = not_replayed(data);
  *text += rows.empty() ? "" : "  not replayed, and why:\n";
  for (const NotReplayed& row : rows) {
    fmt::format_to(std::back_inserter(*text), "    {:10} {:5.1f} %  {}\n", row.submissions,
                   share(row.submissions, data.submissions), row.why);
  }
}

void add_host_calls(std::string* text, const ReportData& data) {
  auto out = std::back_inserter(*text);
  fmt::format_to(out, "  host calls that ended a stretch: {}", data.cuts);
  std::size_t lines = 0;
  for (const auto& [name, count] : most_first(data.cut_by)) {
    if (lines++ == kMostLines) {
      break;
    }
    fmt::format_to(out, "{} {} {}", lines == 1 ? " —" : ",", name, count);
  }
  *text += '\n';
  if (data.taken_back != 0) {
    fmt::format_to(out, "  allocations in stream order that got the memory of a free before it, without a call: {}\n",
                   data.taken_back);
  }
}

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

std::string report_text(const ReportData& data) {
  std::string text;
  add_summary(&text, data);
  add_graphs(&text, data);
  add_devices(&text, data);
  add_intervals(&text, data.intervals);
  add_regions(&text, data);
  add_not_replayed(&text, data);
  add_host_calls(&text, data);
  fmt::format_to(std::back_inserter(text), "  building and trying graphs cost {:.2f} ms", data.trial_ms);
  if (data.yielded_ms > 0) {
    fmt::format_to(std::back_inserter(text), ", of which threads waited {:.2f} ms until the driver had let a build in",
                   data.yielded_ms);
  }
  text += '\n';
  return text;
}

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
  root["share_replayed"] = share(data.replayed, data.submissions) / 100.0;
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
  root["notes"] = data.notes;
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
  for (const IntervalSummary& interval : data.intervals) {
    nlohmann::json entry;
    entry["submissions"] = interval.submissions;
    entry["seen"] = interval.seen;
    entry["state"] = state_name(interval.state);
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
