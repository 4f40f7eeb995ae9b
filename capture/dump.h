// `refrain dump FILE`: what a capture holds, for people and for programs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capture/analysis.h"

namespace refrain::capture {

enum class DumpFormat : std::uint8_t {
  kSummary,  ///< a page of text: devices, totals, the graphs that matter
  kGraph,    ///< one graph: nodes, arguments, edges (DumpOptions::graph)
  kJson,     ///< everything but code and contents, as JSON
  kCsv,      ///< the graphs, one in a line
  kDot,      ///< Graphviz; all graphs, or the one in DumpOptions::graph
  kTrace,    ///< timeline for chrome://tracing and Perfetto, tracks of lanes and queues
  kExplain,  ///< what keeps submissions from being replayed, ordered by what would gain most
};

struct DumpOptions {
  std::string file;
  DumpFormat format = DumpFormat::kSummary;
  std::optional<std::uint32_t> graph;  ///< as numbered in the summary
  std::uint64_t max_memory = 0;        ///< bytes; 0: what format::max_memory() allows for the file
  Forecast forecast;                   ///< not empty
  std::vector<std::string> more = {};  ///< kTrace: captures of processes that ran beside it, for the same timeline
  /// What would be replayed is told for this device in place of those of the capture; it is given their API, and may
  /// throw std::runtime_error. Empty: the captured ones.
  std::function<DeviceInfo(const std::string& api)> device = {};
};

/// Writes to `out` while it reads; problems go to `err`, one line each. Returns the exit status of the program: 0, or 1
/// if a file cannot be read or has no such graph. A file cut short is read up to its last good record, with a note on
/// `err`, and returns 0. Nothing that a terminal obeys is written, whatever the file holds. Never throws.
int run_dump(const DumpOptions& options, std::FILE* out, std::FILE* err) noexcept;

}  // namespace refrain::capture
