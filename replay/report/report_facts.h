// What a report's text and its JSON both tell, so that they tell the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "replay/report/report.h"

namespace refrain::replay {

/// In percent; 0 of nothing.
[[nodiscard]] double percent_of(std::uint64_t part, std::uint64_t whole) noexcept;
[[nodiscard]] double us(std::uint64_t ns) noexcept;

/// False where submissions are watched only.
[[nodiscard]] bool replays(const ReportData& data);

/// What became of a graph in the end, whatever is being tried at this moment.
[[nodiscard]] const char* state_name(const GraphEntry::Summary& graph);
/// Of that state; empty: it needs none.
[[nodiscard]] std::string reason_of(const GraphEntry::Summary& graph);
[[nodiscard]] const char* state_name(IntervalSummary::State state);

/// Intervals as they are told: where every graph was declined, none is said to replay, or to be on trial.
[[nodiscard]] std::vector<IntervalSummary> told_intervals(const ReportData& data);

[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> most_first(
    const std::map<std::string, std::uint64_t>& counts);

struct NotReplayed {
  std::uint64_t submissions = 0;
  std::string why;
  std::string advice;  ///< empty: none
};

/// All that was not replayed, each submission once, what is most first; what was never there is left out.
[[nodiscard]] std::vector<NotReplayed> not_replayed(const ReportData& data);

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
[[nodiscard]] std::vector<DeviceSummary> by_device(const ReportData& data);

}  // namespace refrain::replay
