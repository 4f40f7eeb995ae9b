#include "replay/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "env/escape.h"
#include "replay/report/report_facts.h"
#include "replay/report/verdict.h"

namespace refrain::replay {

namespace {

constexpr std::size_t kMostLines = 8;  // limit

void add_notes(std::string* text, const ReportData& data) {
  std::vector<std::string> notes = data.notes;
  // What a device can change of recorded graphs: only where something is not replayed because that changes.
  if (std::ranges::any_of(data.graphs,
                          [](const auto& graph) { return graph.decline == GraphEntry::Decline::kArguments; })) {
    notes.insert(notes.begin(), data.device_notes.begin(), data.device_notes.end());
  }
  for (const std::string& note : notes) {
    *text += "  " + env::escaped(note) + "\n";
  }
}

void add_summary(std::string* text, const ReportData& data) {
  auto out = std::back_inserter(*text);
  fmt::format_to(out, "report ({}, {}, {:.2f} s) of {} ({}): {}\n", data.mode, data.backend, data.seconds,
                 env::escaped(data.program), data.process, verdict_of(data));
  fmt::format_to(out, "  submissions {}, replayed {} ({:.1f} %) in {} launches", data.submissions, data.replayed,
                 percent_of(data.replayed, data.submissions), data.launches);
  if (const std::uint64_t saved = submission_saved_ns(data); saved != 0) {
    fmt::format_to(out, "; to submit them took {:.1f} ms less", us(saved) / 1000.0);
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
  add_notes(text, data);
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
                 "    {} submissions, seen {} times, {}: {:.1f} us eagerly, {:.1f} us with graphs ({:.2f}x){}{}\n",
                 interval.submissions, interval.seen, state_name(interval.state), us(interval.eager_ns), us(with),
                 static_cast<double>(interval.eager_ns) / static_cast<double>(with),
                 interval.reason.empty() ? "" : "; ", interval.reason);
}

void add_line(std::string* text, const RegionSummary& region) {
  fmt::format_to(std::back_inserter(*text), "    {:<30} entered {} times, submissions {}, replayed {:.1f} %\n",
                 env::escaped(region.name), region.entered, region.submissions,
                 percent_of(region.replayed, region.submissions));
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

void add_not_replayed(std::string* text, const ReportData& data) {
  const std::vector<NotReplayed> rows = not_replayed(data);
  *text += rows.empty() ? "" : "  not replayed, and why:\n";
  for (const NotReplayed& row : rows) {
    fmt::format_to(std::back_inserter(*text), "    {:10} {:5.1f} %  {}\n", row.submissions,
                   percent_of(row.submissions, data.submissions), row.why);
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
  const bool not_all = data.dormant + data.stopped != 0;
  *text += not_all ? " (while it was looked at)\n" : "\n";
  if (data.taken_back != 0) {
    fmt::format_to(out, "  allocations in stream order that got the memory of a free before it, without a call: {}\n",
                   data.taken_back);
  }
}

/// Nothing where no graphs are made.
void add_trials(std::string* text, const ReportData& data) {
  if (!replays(data)) {
    return;
  }
  auto out = std::back_inserter(*text);
  fmt::format_to(out, "  building and trying graphs cost {:.2f} ms", data.trial_ms);
  if (data.yielded_ms > 0) {
    fmt::format_to(out, ", of which threads waited {:.2f} ms until the driver had let a build in", data.yielded_ms);
  }
  *text += '\n';
}

}  // namespace

std::string report_text(const ReportData& data) {
  std::string text;
  add_summary(&text, data);
  add_graphs(&text, data);
  add_devices(&text, data);
  add_intervals(&text, told_intervals(data));
  add_regions(&text, data);
  add_not_replayed(&text, data);
  add_host_calls(&text, data);
  add_trials(&text, data);
  return text;
}

}  // namespace refrain::replay
