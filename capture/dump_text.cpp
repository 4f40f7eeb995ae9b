// --summary and --explain: for people.
#include <algorithm>
#include <ctime>

#include "capture/dump_formats.h"

namespace refrain::capture {
namespace {

constexpr std::size_t kMaxRows = 10;
constexpr std::size_t kMaxFindings = 20;
constexpr std::size_t kMaxRegions = 20;

std::string date(std::uint64_t realtime_ns) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000U);
  std::tm parts{};
  char text[32] = "unknown date";
  if (::gmtime_r(&seconds, &parts) != nullptr) {
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts);
  }
  return text;
}

void headline(DumpOutput& out, const Capture& capture, const Analysis& analysis) {
  out.line("{}: {} submissions in {} stretches, {} lane{}, {}", capture.file, grouped(analysis.submissions),
           grouped(analysis.stretches), capture.lanes.size(), capture.lanes.size() == 1 ? "" : "s",
           duration(static_cast<double>(analysis.last_ns - analysis.first_ns)));
}

void findings(DumpOutput& out, const Capture& capture, const Analysis& analysis, const std::vector<Finding>& list) {
  std::size_t number = 0;
  std::uint64_t rest = 0;
  double rest_share = 0;
  for (const Finding& finding : list) {
    if (++number > kMaxFindings) {
      rest += finding.submissions;
      rest_share += finding.share;
      continue;
    }
    const FindingText wording = text_of(capture, analysis, finding);
    std::string time;
    if (analysis.host_ns != 0) {
      time = fmt::format(", {} in driver calls", duration(static_cast<double>(finding.host_ns)));
    }
    out.line("{:3}. {:>7}  {} submissions{}", number, percent(finding.share), grouped(finding.submissions), time);
    out.line("              {}", wording.what);
    for (const std::string& detail : wording.details) {
      out.line("                {}", detail);
    }
    if (!wording.advice.empty()) {
      out.line("                try: {}", wording.advice);
    }
  }
  if (rest != 0) {
    out.line("     {:>7}  {} submissions in {} more, see --json", percent(rest_share), grouped(rest),
             list.size() - kMaxFindings);
  }
}

void show_regions(const Capture& capture, const Analysis& analysis, DumpOutput& out) {
  const std::vector<RegionSum> regions = region_sums(capture);
  if (regions.empty()) {
    return;
  }
  out.blank();
  out.line("Regions that the program named (stretches that began there, or in a region inside):");
  out.line("  {:>7} {:>10} {:>11}  {}", "share", "stretches", "submissions", "region");
  for (std::size_t i = 0; i < std::min(kMaxRegions, regions.size()); ++i) {
    out.line("  {:>7} {:>10} {:>11}  {}", percent(share_of(regions[i].submissions, analysis.submissions)),
             grouped(regions[i].stretches), grouped(regions[i].submissions), regions[i].name);
  }
  if (regions.size() > kMaxRegions) {
    out.line("  … {} more, see --json", regions.size() - kMaxRegions);
  }
}

}  // namespace

void dump_summary(const Capture& capture, const Analysis& analysis, DumpOutput& out) {
  headline(out, capture, analysis);
  out.line("  program   {} (process {}), {}", capture.command.empty() ? "unknown" : capture.command, capture.process,
           date(capture.start_realtime_ns));
  out.line("  file      {}, {} records, written by {}", size_text(capture.file_bytes), capture.records,
           capture.writer.empty() ? "unknown" : capture.writer);
  for (const DeviceInfo& device : capture.devices) {
    out.line("  device    {} on {} ({}); command buffers: {}", device.name, device.platform, device.driver,
             device.native.empty() ? "none" : device.native);
  }
  std::size_t contents = 0;
  for (const auto& [id, buffer] : capture.buffers) {
    contents += capture.has_contents(id) ? 1 : 0;
  }
  out.line("  objects   {} programs, {} kernels, {} queues, {} buffers ({} with contents)", capture.code.size(),
           capture.functions.size(), capture.queues.size(), capture.buffers.size(), contents);
  if (analysis.host_ns != 0) {
    out.line("  time      {} in driver calls", duration(static_cast<double>(analysis.host_ns)));
  }

  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < analysis.graphs.size(); ++i) {
    if (analysis.graphs[i].runs != 0) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return analysis.graphs[a].submissions > analysis.graphs[b].submissions;
  });
  out.blank();
  out.line("{} different graphs{}", order.size(), order.empty() ? "" : ":");
  if (!order.empty()) {
    out.line("  {:>5} {:>7} {:>10} {:>6} {:>6}  {:<9} {}", "graph", "share", "runs", "nodes", "edges", "arguments",
             "what");
  }
  for (std::size_t i = 0; i < std::min(kMaxRows, order.size()); ++i) {
    const GraphUse& use = analysis.graphs[order[i]];
    const Graph graph = capture.graphs[order[i]].graph();
    out.line("  {:>5} {:>7} {:>10} {:>6} {:>6}  {:<9} {}", order[i],
             percent(share_of(use.submissions, analysis.submissions)), grouped(use.runs), graph.size(),
             graph.edges().size(), name_of(use.arguments), label_of(capture, graph));
  }
  if (order.size() > kMaxRows) {
    out.line("  … {} more", order.size() - kMaxRows);
  }

  show_regions(capture, analysis, out);

  auto calls = capture.host_calls;
  std::stable_sort(calls.begin(), calls.end(),
                   [](const HostCallCount& a, const HostCallCount& b) { return a.cuts > b.cuts; });
  if (!calls.empty()) {
    out.blank();
    out.line("Host calls (a cut ends a stretch; idle: nothing had been submitted before it):");
    out.line("  {:>10} {:>10}  {}", "cuts", "idle", "call");
  }
  for (std::size_t i = 0; i < std::min(kMaxRows, calls.size()); ++i) {
    out.line("  {:>10} {:>10}  {}", grouped(calls[i].cuts), grouped(calls[i].idle),
             capture.ended_by(calls[i].entry_point));
  }
  out.blank();
  out.line(
      "{} of all submissions repeat in a way that can be graphed. Why not the rest: --explain. One graph: "
      "--graph N.",
      percent(analysis.graphable_share));
}

void dump_explain(const Capture& capture, const Analysis& analysis, DumpOutput& out) {
  headline(out, capture, analysis);
  const bool native = std::any_of(capture.devices.begin(), capture.devices.end(),
                                  [](const DeviceInfo& device) { return !device.native.empty(); });
  if (!capture.devices.empty() && !native) {
    out.line("No device of this capture has command buffers: nothing can be replayed natively on it.");
  }
  out.blank();
  out.line("Can be graphed: {} of all submissions", percent(analysis.graphable_share));
  findings(out, capture, analysis, analysis.graphable);
  if (analysis.obstacles.empty()) {
    if (analysis.submissions != 0) {
      out.blank();
      out.line("Nothing else was submitted.");
    }
    return;
  }
  out.blank();
  out.line("What keeps the rest from being replayed, by what would gain most:");
  findings(out, capture, analysis, analysis.obstacles);
}

}  // namespace refrain::capture
