#include "env/page/capture_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>

#include "capture/analysis.h"
#include "capture/reader.h"
#include "capture/record_file.h"
#include "env/page/picture_data.h"
#include "env/page/timeline_data.h"

namespace refrain::page {
namespace {

using capture::Analysis;
using capture::Capture;
using capture::Finding;
using capture::GraphUse;
using nlohmann::json;

// What has most to gain comes first, so what is left out is the tail.
constexpr std::size_t kMostGraphs = 1000;
constexpr std::size_t kMostPictures = 200;
constexpr std::size_t kMostFindings = 200;
constexpr std::size_t kMostRows = 500;

struct Row {
  std::uint32_t number = 0;  ///< of the graph
  capture::GraphVerdict verdict;
};

/// All graphs that came, those with most to gain first.
std::vector<Row> rows_of(const Analysis& analysis) {
  const std::vector<capture::GraphVerdict> verdicts = verdicts_of(analysis);
  std::vector<Row> rows;
  for (std::uint32_t number = 0; number < analysis.graphs.size(); ++number) {
    if (analysis.graphs[number].runs != 0) {
      rows.push_back({number, verdicts[number]});
    }
  }
  std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) {
    return std::pair(a.verdict.gain_ns, analysis.graphs[a.number].submissions) >
           std::pair(b.verdict.gain_ns, analysis.graphs[b.number].submissions);
  });
  return rows;
}

json ends_of(const Capture& capture, const GraphUse& use) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ends;
  for (const auto& [call, runs] : use.ended_by) {
    ends.emplace_back(runs, call);
  }
  std::ranges::sort(ends, std::greater());
  json result = json::array();
  for (std::size_t i = 0; i < std::min<std::size_t>(ends.size(), 5); ++i) {
    result.push_back({capture.ended_by(ends[i].second), ends[i].first});
  }
  return result;
}

json graphs_of(const Capture& capture, const Analysis& analysis, const std::vector<Row>& rows) {
  json result = json::array();
  for (const Row& row : rows) {
    if (result.size() == kMostGraphs) {
      break;
    }
    const GraphUse& use = analysis.graphs[row.number];
    const capture::StoredGraph& stored = capture.graphs[row.number];
    const capture::Graph graph = stored.graph();
    json entry = {{"graph", row.number},
                  {"fingerprint", fmt::format("{:016x}", graph.fingerprint())},
                  {"what", label_of(capture, graph)},
                  {"operations", graph.size()},
                  {"edges", graph.edges().size()},
                  {"runs", use.runs},
                  {"submissions", use.submissions},
                  {"host_ns", use.host_ns},
                  {"span_ns", use.span_ns},
                  {"gain_ns", row.verdict.gain_ns},
                  {"state", capture::name_of(row.verdict.kind)},
                  {"arguments", capture::name_of(use.arguments)},
                  {"ended_by", ends_of(capture, use)}};
    if (result.size() < kMostPictures) {
      entry["changes"] = changes_text(capture, stored, graph);
      entry["picture"] = picture_data(capture, stored, graph);
    }
    result.push_back(std::move(entry));
  }
  return result;
}

json findings_of(const Capture& capture, const Analysis& analysis, const std::vector<Finding>& findings) {
  json result = json::array();
  for (const Finding& finding : findings) {
    if (result.size() == kMostFindings) {
      break;
    }
    const capture::FindingText text = text_of(capture, analysis, finding);
    result.push_back({{"kind", capture::name_of(finding.kind)},
                      {"what", text.what},
                      {"details", text.details},
                      {"advice", text.advice},
                      {"submissions", finding.submissions},
                      {"share", finding.share},
                      {"host_ns", finding.host_ns},
                      {"graph", finding.graph ? json(*finding.graph) : json(nullptr)}});
  }
  return result;
}

json devices_of(const Capture& capture) {
  json result = json::array();
  for (const capture::DeviceInfo& device : capture.devices) {
    if (result.size() < kMostRows) {
      result.push_back({{"api", device.api},
                        {"name", device.name},
                        {"platform", device.platform},
                        {"driver", device.driver},
                        {"command_buffers", device.native},
                        {"updates", device.updates}});
    }
  }
  return result;
}

json host_calls_of(const Capture& capture) {
  auto calls = capture.host_calls;
  std::ranges::stable_sort(calls, std::greater(), &capture::HostCallCount::cuts);
  json result = json::array();
  for (const capture::HostCallCount& call : calls) {
    if (result.size() < kMostRows) {
      result.push_back({{"call", capture.ended_by(call.entry_point)}, {"cuts", call.cuts}, {"idle", call.idle}});
    }
  }
  return result;
}

json regions_of(const Capture& capture) {
  json result = json::array();
  for (const capture::RegionSum& region : region_sums(capture)) {
    if (result.size() < kMostRows) {
      result.push_back({{"name", region.name}, {"stretches", region.stretches}, {"submissions", region.submissions}});
    }
  }
  return result;
}

/// What the program's graphs name, by kind.
json memory_of(const Capture& capture) {
  std::map<std::string_view, std::pair<std::uint64_t, std::uint64_t>> kinds;
  for (const auto& [id, buffer] : capture.buffers) {
    if (buffer.parent == 0 && !buffer.is_sampler) {
      auto& [count, bytes] = kinds[buffer.is_image ? "image" : capture::place_of(buffer)];
      ++count;
      bytes += buffer.size;
    }
  }
  json result = json::array();
  for (const auto& [kind, sum] : kinds) {
    result.push_back({{"kind", kind}, {"count", sum.first}, {"bytes", sum.second}});
  }
  return result;
}

json data_of(const Capture& capture, const capture::Forecast& forecast) {
  const Analysis analysis = analyse(capture, forecast);
  const std::vector<Row> rows = rows_of(analysis);
  json result = {{"kind", "capture"},
                 {"file", capture.file},
                 {"verdict", capture::verdict_of(capture, analysis)},
                 {"program", capture.command},
                 {"process", fmt::format("pid {}", capture.process)},
                 {"writer", capture.writer},
                 {"bytes", capture.file_bytes},
                 {"started_ns", capture.start_realtime_ns},
                 {"seconds", static_cast<double>(analysis.last_ns - analysis.first_ns) / 1e9},
                 {"cut_short", capture.cut_short},
                 {"lanes", capture.lanes.size()},
                 {"queues", capture.queues.size()},
                 {"submissions", analysis.submissions},
                 {"stretches", analysis.stretches},
                 {"host_ns", analysis.host_ns},
                 {"graphable_share", analysis.graphable_share},
                 {"graphs_in_all", rows.size()},
                 {"findings_in_all", analysis.obstacles.size()}};
  result["devices"] = devices_of(capture);
  result["graphs"] = graphs_of(capture, analysis, rows);
  result["not_replayed"] = findings_of(capture, analysis, analysis.obstacles);
  result["host_calls"] = host_calls_of(capture);
  result["regions"] = regions_of(capture);
  result["memory"] = memory_of(capture);
  result["timeline"] = timeline_data(capture);
  return result;
}

}  // namespace

json capture_data(const std::string& file, const capture::Forecast& forecast, std::uint64_t max_memory) {
  std::string error;
  const auto capture = capture::read_capture(file, &error, max_memory);
  if (!capture) {
    throw std::runtime_error(error);
  }
  try {
    return data_of(*capture, forecast);
  } catch (const capture::Refused& problem) {
    throw std::runtime_error(fmt::format("cannot show '{}': {}", file, problem.what()));
  }
}

}  // namespace refrain::page
