#include "env/page/report_data.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

#include "env/page/report_timeline.h"
#include "env/regular_file.h"

namespace refrain::page {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20U;
constexpr std::size_t kMostRows = 2000;  // of a list

using Names = std::initializer_list<const char*>;

/// Takes over what has the right type; a number or text that is not there, or is something else, is 0 or empty.
nlohmann::json taken(const nlohmann::json& from, Names numbers, Names texts) {
  nlohmann::json result = nlohmann::json::object();
  const bool object = from.is_object();
  for (const char* name : numbers) {
    const bool there = object && from.contains(name) && from[name].is_number();
    result[name] = there && std::isfinite(from[name].get<double>()) ? from[name] : nlohmann::json(0);
  }
  for (const char* name : texts) {
    result[name] = object && from.contains(name) && from[name].is_string() ? from[name] : nlohmann::json("");
  }
  return result;
}

nlohmann::json taken_list(const nlohmann::json& from, const char* list, Names numbers, Names texts) {
  nlohmann::json result = nlohmann::json::array();
  if (from.contains(list) && from[list].is_array()) {
    for (const nlohmann::json& row : from[list]) {
      if (result.size() == kMostRows) {
        break;
      }
      result.push_back(taken(row, numbers, texts));
    }
  }
  return result;
}

/// {"clFinish": 3} as rows of name and count.
nlohmann::json counts_of(const nlohmann::json& from, const char* map) {
  nlohmann::json result = nlohmann::json::array();
  if (from.contains(map) && from[map].is_object()) {
    for (const auto& [name, count] : from[map].items()) {
      if (count.is_number_unsigned() && result.size() < kMostRows) {
        result.push_back({{"call", name}, {"cuts", count}});
      }
    }
  }
  return result;
}

/// What was measured of a graph: how much was gained, and how much more could be if all were replayed.
void add_gain(nlohmann::json& graph) {
  const double eager = graph["eager_us"], replay = graph["replay_us"];
  const double times = graph["recorded"].get<double>() + graph["bypassed"].get<double>();
  graph["measured"] = eager > 0 && replay > 0;
  graph["gain_us"] = eager > replay && replay > 0 ? (eager - replay) * times : 0.0;
}

nlohmann::json intervals_of(const nlohmann::json& report) {
  nlohmann::json result = nlohmann::json::array();
  if (!report.contains("sync_intervals") || !report["sync_intervals"].is_array()) {
    return result;
  }
  for (const nlohmann::json& interval : report["sync_intervals"]) {
    nlohmann::json row = taken(interval, {"submissions", "seen", "eager_us", "plan"}, {"state", "reason"});
    const std::size_t plan = row["plan"].is_number_unsigned() ? row["plan"].get<std::size_t>() : kMostRows;
    row["with_us"] = 0;
    if (interval.is_object() && interval.contains("plans") && interval["plans"].is_array() &&
        plan < interval["plans"].size()) {
      row["with_us"] = taken(interval["plans"][plan], {"us"}, {})["us"];
    }
    if (result.size() < kMostRows) {
      result.push_back(std::move(row));
    }
  }
  return result;
}

}  // namespace

nlohmann::json report_data(const std::string& file) {
  std::string content, why;
  if (!env::read_regular_file(file, kLargestFile, &content, &why)) {
    throw std::runtime_error(fmt::format("can't read '{}': {}", file, why));
  }
  const nlohmann::json report = nlohmann::json::parse(content, nullptr, false);
  if (!report.is_object() || !report.contains("share_replayed") || !report.contains("graphs")) {
    throw std::runtime_error(fmt::format("'{}' is neither a capture nor a report", file));
  }
  nlohmann::json result = taken(report,
                                {"seconds", "lanes", "submissions", "replayed", "share_replayed", "launches", "cuts",
                                 "verified", "differences", "unverified", "trial_ms", "yielded_ms", "expired"},
                                {"verdict", "program", "process", "mode", "backend"});
  result["kind"] = "report";
  result["file"] = file;
  result["not_replayed"] = taken_list(report, "not_replayed", {"submissions"}, {"why", "advice"});
  result["host_calls"] = counts_of(report, "cut_by");
  result["regions"] = taken_list(report, "regions", {"entered", "submissions", "replayed"}, {"name"});
  result["intervals"] = intervals_of(report);
  result["timeline"] = report_timeline(report);
  result["graphs"] = taken_list(report, "graphs",
                                {"operations", "recorded", "bypassed", "launched", "changed", "builds", "variants",
                                 "parts", "native_nodes", "memory_bytes", "eager_us", "replay_us", "saved_us"},
                                {"fingerprint", "what", "state", "reason"});
  std::size_t number = 0;
  for (nlohmann::json& graph : result["graphs"]) {
    graph["graph"] = number++;
    add_gain(graph);
  }
  result["graphs_in_all"] = report["graphs"].is_array() ? report["graphs"].size() : 0;
  result["graphs_gone"] = report.contains("graphs_gone")
                              ? taken(report["graphs_gone"], {"count", "launched", "saved_us"}, {})
                              : nlohmann::json(nullptr);
  return result;
}

}  // namespace refrain::page
