#include "replay/report/report_facts.h"

#include <fmt/format.h>

#include <algorithm>

namespace refrain::replay {

namespace {

/// Whether every graph was declined in the end: then no interval runs with any, whatever was concluded of it before.
bool all_declined(const ReportData& data) {
  return !data.graphs.empty() && std::ranges::all_of(data.graphs, [](const GraphEntry::Summary& graph) {
    return graph.state == GraphEntry::State::kBypassing;
  });
}

}  // namespace

double percent_of(std::uint64_t part, std::uint64_t whole) noexcept {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double us(std::uint64_t ns) noexcept {
  return static_cast<double>(ns) / 1000.0;
}

bool replays(const ReportData& data) {
  return data.mode == "replay" || data.mode == "verify";
}

const char* state_name(const GraphEntry::Summary& graph) {
  return graph.state == GraphEntry::State::kBypassing ? "declined" : graph.launched != 0 ? "replaying" : "waiting";
}

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

std::vector<IntervalSummary> told_intervals(const ReportData& data) {
  std::vector<IntervalSummary> intervals = data.intervals;
  if (all_declined(data)) {
    for (IntervalSummary& interval : intervals) {
      if (interval.state != IntervalSummary::State::kDeclined) {
        interval.state = IntervalSummary::State::kDeclined;
        interval.reason = "its graphs were declined, each for a reason of its own";
      }
    }
  }
  return intervals;
}

std::vector<std::pair<std::string, std::uint64_t>> most_first(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

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
      : row(data.followed, "in stretches that repeat: refrain dump tells of a capture what of it can be graphed",
            "refrain capture -o app.rfn, then refrain dump app.rfn");
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

}  // namespace refrain::replay
