#include "replay/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

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

const char* state_name(GraphEntry::State state) {
  switch (state) {
    case GraphEntry::State::kRecording: return "recording";
    case GraphEntry::State::kReady: return "replaying";
    case GraphEntry::State::kBypassing: return "declined";
  }
  return "unknown";
}

std::string reason_of(const GraphEntry::Summary& graph) {
  if (!graph.reason.empty()) {
    return graph.reason;
  }
  if (graph.state == GraphEntry::State::kReady) {
    return "";
  }
  return graph.launched != 0 ? "its buffers were freed, or eager execution was being measured again"
                             : "the program ended before it could be judged";
}

const char* state_name(IntervalSummary::State state) {
  switch (state) {
    case IntervalSummary::State::kTrial: return "on trial";
    case IntervalSummary::State::kReplaying: return "replaying";
    case IntervalSummary::State::kDeclined: return "declined";
  }
  return "unknown";
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
  auto out = std::back_inserter(*text);
  *text += "  sync intervals, from the first submission to the end of the wait:\n";
  std::size_t lines = 0;
  for (const IntervalSummary& interval : intervals) {
    if (lines++ == kMostLines) {
      fmt::format_to(out, "    … and {} more (all of them: report_file)\n", intervals.size() - kMostLines);
      break;
    }
    const std::uint64_t with = interval.plans[interval.plan].ns;
    fmt::format_to(out, "    {} submissions, seen {} times, {}: {:.1f} us eagerly, {:.1f} us with graphs ({:.2f}x)\n",
                   interval.submissions, interval.seen, state_name(interval.state), us(interval.eager_ns), us(with),
                   static_cast<double>(interval.eager_ns) / static_cast<double>(with));
  }
}

}  // namespace

std::string report_text(const ReportData& data) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "report ({}, {}, {:.2f} s)\n", data.mode, data.backend, data.seconds);
  fmt::format_to(out, "  submissions {}, replayed {} ({:.1f} %) in {} launches", data.submissions, data.replayed,
                 share(data.replayed, data.submissions), data.launches);
  std::uint64_t saved = data.graphs_gone.saved_ns;
  for (const auto& graph : data.graphs) {
    saved += graph.saved_ns;
  }
  if (saved != 0) {
    fmt::format_to(out, ", {:.1f} ms of submission saved", us(saved) / 1000.0);
  }
  text += '\n';
  if (data.mode == "verify") {
    fmt::format_to(out, "  verify checked {} replays, {} differences; {} could not be checked\n",
                   data.verified + data.differences, data.differences, data.unverified);
    for (const auto& [why, times] : data.unchecked) {
      fmt::format_to(out, "    {:10}  {}\n", times, why);
    }
  }
  std::vector<GraphEntry::Summary> graphs = data.graphs;
  std::stable_sort(graphs.begin(), graphs.end(), [](const auto& a, const auto& b) { return a.weight() > b.weight(); });
  const auto used = std::count_if(graphs.begin(), graphs.end(), [](const auto& graph) { return graph.launched != 0; });
  const auto declined = std::count_if(graphs.begin(), graphs.end(),
                                      [](const auto& graph) { return graph.state == GraphEntry::State::kBypassing; });
  fmt::format_to(out, "  repeating stretches {}: {} replayed at least once, {} declined in the end\n", graphs.size(),
                 used, declined);
  if (data.graphs_gone.entries != 0) {
    fmt::format_to(out,
                   "    … and {} before them, launched {} times, that were given up: their kernels or queues are gone, "
                   "or they had not come for long\n",
                   data.graphs_gone.entries, data.graphs_gone.launched);
  }
  std::size_t lines = 0;
  for (const auto& graph : graphs) {
    if (lines++ == kMostLines) {
      fmt::format_to(out, "    … and {} more (all of them: report_file)\n", graphs.size() - kMostLines);
      break;
    }
    fmt::format_to(out, "    {:016x}: {} operations, seen {} times, {}", graph.fingerprint, graph.operations,
                   graph.recorded + graph.bypassed + graph.launched, state_name(graph.state));
    if (graph.eager_ns != 0 && graph.replay_ns != 0) {
      fmt::format_to(
          out, ", {:.1f} us eager, {:.1f} us replayed ({:.2f}x)", us(graph.eager_ns), us(graph.replay_ns),
          static_cast<double>(graph.eager_ns) / static_cast<double>(std::max<std::uint64_t>(graph.replay_ns, 1)));
    }
    const std::string reason = reason_of(graph);
    fmt::format_to(out, "{}{}\n", reason.empty() ? "" : ": ", reason);
  }
  add_intervals(&text, data.intervals);
  const std::uint64_t unholdable = [&] {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : data.unholdable) {
      sum += count;
    }
    return sum;
  }();
  const std::uint64_t accounted =
      data.replayed + data.between + data.followed + data.recorded + data.dormant + unholdable;
  fmt::format_to(out, "  not replayed, and why:\n");
  fmt::format_to(out, "    {:10} {:5.1f} %  in a stretch that was declined or not ready (above)\n", data.followed,
                 share(data.followed, data.submissions));
  fmt::format_to(out, "    {:10} {:5.1f} %  while a stretch was being recorded\n", data.recorded,
                 share(data.recorded, data.submissions));
  if (data.between != 0) {
    fmt::format_to(out, "    {:10} {:5.1f} %  between the parts of graphs: events, and what is too short for a part\n",
                   data.between, share(data.between, data.submissions));
  }
  if (data.dormant != 0) {
    fmt::format_to(out, "    {:10} {:5.1f} %  while the thread was dormant: nothing had paid for a long time before\n",
                   data.dormant, share(data.dormant, data.submissions));
  }
  for (const auto& [reason, count] : most_first(data.unholdable)) {
    fmt::format_to(out, "    {:10} {:5.1f} %  {}\n", count, share(count, data.submissions), reason);
  }
  if (data.held_issued != 0) {
    fmt::format_to(
        out, "    {:10} {:5.1f} %  held, but the sequence went on differently, or the hold limit came ({} times)\n",
        data.held_issued, share(data.held_issued, data.submissions), data.expired);
  }
  const std::uint64_t rest =
      data.submissions > accounted + data.held_issued ? data.submissions - accounted - data.held_issued : 0;
  fmt::format_to(out, "    {:10} {:5.1f} %  not part of a stretch that repeats between host calls\n", rest,
                 share(rest, data.submissions));
  fmt::format_to(out, "  host calls that ended a stretch: {}", data.cuts);
  lines = 0;
  for (const auto& [name, count] : most_first(data.cut_by)) {
    if (lines++ == kMostLines) {
      break;
    }
    fmt::format_to(out, "{} {} {}", lines == 1 ? " —" : ",", name, count);
  }
  fmt::format_to(out, "\n  building and trying graphs cost {:.2f} ms", data.trial_ms);
  if (data.yielded_ms > 0) {
    fmt::format_to(out, ", of which threads waited {:.2f} ms until the driver had let a build in", data.yielded_ms);
  }
  fmt::format_to(out, "\n");
  return text;
}

std::string report_json(const ReportData& data) {
  nlohmann::json root;
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
  root["expired"] = data.expired;
  root["dormant"] = data.dormant;
  root["cuts"] = data.cuts;
  root["verified"] = data.verified;
  root["unverified"] = data.unverified;
  root["differences"] = data.differences;
  root["trial_ms"] = data.trial_ms;
  root["yielded_ms"] = data.yielded_ms;
  root["unholdable"] = data.unholdable;
  root["cut_by"] = data.cut_by;
  root["unchecked"] = data.unchecked;
  auto& times = root["times"] = nlohmann::json::array();
  for (const LaneTimes& lane : data.times) {
    times.push_back({{"call_ns", lane.call_ns}, {"hold_ns", lane.hold_ns}});
  }
  auto& intervals = root["sync_intervals"] = nlohmann::json::array();
  for (const IntervalSummary& interval : data.intervals) {
    nlohmann::json entry;
    entry["submissions"] = interval.submissions;
    entry["seen"] = interval.seen;
    entry["state"] = state_name(interval.state);
    entry["eager_us"] = us(interval.eager_ns);
    entry["eager_samples"] = interval.eager_samples;
    entry["plan"] = interval.plan;
    for (const IntervalSummary::Plan& plan : interval.plans) {
      entry["plans"].push_back({{"us", us(plan.ns)}, {"samples", plan.samples}, {"in_graphs", plan.in_graphs}});
    }
    intervals.push_back(std::move(entry));
  }
  root["graphs_gone"] = {{"count", data.graphs_gone.entries},
                         {"launched", data.graphs_gone.launched},
                         {"saved_us", us(data.graphs_gone.saved_ns)}};
  auto& graphs = root["graphs"] = nlohmann::json::array();
  for (const auto& graph : data.graphs) {
    nlohmann::json entry;
    entry["fingerprint"] = fmt::format("{:016x}", graph.fingerprint);
    entry["operations"] = graph.operations;
    entry["state"] = state_name(graph.state);
    entry["reason"] = reason_of(graph);
    entry["recorded"] = graph.recorded;
    entry["bypassed"] = graph.bypassed;
    entry["launched"] = graph.launched;
    entry["as_predicted"] = graph.as_predicted;
    entry["found"] = graph.found;
    entry["changed"] = graph.changed;
    entry["changed_operations"] = graph.changed_operations;
    entry["mismatched"] = graph.mismatched;
    entry["builds"] = graph.builds;
    entry["variants"] = graph.variants;
    entry["parts"] = graph.parts;
    entry["native_nodes"] = graph.native_nodes;
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
