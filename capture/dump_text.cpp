// --summary and --explain: for people.
#include <algorithm>
#include <ctime>
#include <span>
#include <string>
#include <vector>

#include "capture/dump_formats.h"

namespace refrain::capture {
namespace {

constexpr std::size_t kMaxRows = 10;
// An explanation is one screen: lines of what can be graphed, and of what keeps the rest from it.
constexpr std::size_t kGraphableLines = 12, kObstacleLines = 18;
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

/// What is told of a finding: its first line goes behind number and share.
std::vector<std::string> lines_of(const Capture& capture, const Analysis& analysis, const Finding& finding) {
  const FindingText wording = text_of(capture, analysis, finding);
  std::string amount = finding.submissions == 1 ? "1 submission" : grouped(finding.submissions) + " submissions";
  if (finding.host_ns != 0) {
    amount += fmt::format(", about {} in driver calls", duration(static_cast<double>(finding.host_ns)));
  }
  std::vector<std::string> lines{wording.what};
  if (wording.details.size() == 1) {
    lines.push_back(amount + "; " + wording.details.front());
  } else {
    lines.push_back(std::move(amount));
    lines.insert(lines.end(), wording.details.begin(), wording.details.end());
  }
  if (!wording.advice.empty()) {
    lines.push_back("try: " + wording.advice);
  }
  return lines;
}

void findings(DumpOutput& out, const Capture& capture, const Analysis& analysis, const std::vector<Finding>& list,
              std::size_t most_lines) {
  std::size_t shown = 0, used = 0;
  for (const Finding& finding : list) {
    const std::vector<std::string> lines = lines_of(capture, analysis, finding);
    used += lines.size();
    if (shown != 0 && used > most_lines) {
      break;
    }
    out.line("{:3}. {:>7}  {}", ++shown, percent(finding.share), lines.front());
    for (std::size_t i = 1; i < lines.size(); ++i) {
      out.line("                {}", lines[i]);
    }
  }
  std::uint64_t rest = 0;
  double rest_share = 0;
  for (const Finding& finding : std::span(list).subspan(shown)) {
    rest += finding.submissions;
    rest_share += finding.share;
  }
  if (shown < list.size()) {
    out.line("     {:>7}  {} submissions in {} more, see --json", percent(rest_share), grouped(rest),
             list.size() - shown);
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
    out.line("  time      {} in driver calls that do not wait", duration(static_cast<double>(analysis.host_ns)));
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
  out.line("{}", verdict_of(capture, analysis));
  headline(out, capture, analysis);
  out.line("(A stretch is what a thread submits up to a call that waits, or ends one otherwise. A lane is a thread.)");
  if (!analysis.graphable.empty()) {
    out.blank();
    out.line("What can be graphed (graphs are used where they are faster: the report of `refrain run` tells that):");
    findings(out, capture, analysis, analysis.graphable, kGraphableLines);
  }
  if (analysis.obstacles.empty()) {
    if (analysis.submissions != 0) {
      out.blank();
      out.line("Nothing else was submitted.");
    }
    return;
  }
  out.blank();
  out.line("What keeps the rest from being replayed, by what would gain most:");
  findings(out, capture, analysis, analysis.obstacles, kObstacleLines);
}

}  // namespace refrain::capture
