// The bench between reading the file and printing: what it found, and how it is printed.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/standalone_device.h"
#include "capture/model.h"
#include "replay/bench/bench.h"
#include "replay/bench/bench_statistics.h"

namespace refrain::replay {

struct BenchRow {
  std::uint32_t graph = 0;
  capture::Fingerprint fingerprint = 0;
  std::uint32_t chunk = 0;  ///< 0: whole parts
  std::size_t nodes = 0, edges = 0;
  std::uint64_t occurrences = 0;
  std::size_t parts = 0, native_parts = 0;
  std::uint32_t pairs = 0;  ///< timed rounds; fewer than asked for if that took too long
  BenchTime eager, native;
  double ratio = 0;         ///< eager / native: above 1, native is faster
  std::size_t made_up = 0;  ///< buffers whose contents the capture does not hold
};

struct BenchProblem {
  std::uint32_t graph = 0;
  std::string reason;
  bool failure = false;  ///< wrong bytes, or an error while running; else it could not be benched
};

/// A graph with one chunk size, of whichever file it is.
struct MeasuredGraph {
  std::uint32_t graph = 0;
  capture::Fingerprint fingerprint = 0;
  std::uint32_t chunk = 0;
};

/// Medians, in microseconds.
struct BenchDifference {
  double old_us = 0, new_us = 0;
  TimeRatio ratio;  ///< new / old
};

struct BenchComparison {
  std::string baseline;  ///< its file
  double tolerance = 0;
  std::vector<std::string> notes;  ///< what else differs: device, driver …
  struct Row {
    MeasuredGraph what;
    BenchDifference eager, native;
    TimeRatio relative;  ///< native's ratio / eager's
    Verdict verdict = Verdict::kNoDifference;
  };
  std::vector<Row> rows;
  std::vector<MeasuredGraph> only_in_baseline, only_here;
};

struct BenchResult {
  std::string file;
  capture::DeviceInfo device;
  std::vector<BenchRow> rows;
  std::vector<BenchProblem> problems;
  std::optional<BenchComparison> comparison;
};

/// "all" for 0.
std::string text_of_chunk(std::uint32_t chunk);
nlohmann::json json_of(const TimeRatio& ratio);

/// Benches these graphs of a capture on a device; progress on `err`.
BenchResult bench_graphs(const BenchOptions& options, const capture::Capture& capture,
                         const std::vector<const capture::StoredGraph*>& graphs, backends::StandaloneDevice& device,
                         std::FILE* err);

void print_table(const BenchResult& result, const BenchOptions& options, std::FILE* out);
void print_json(const BenchResult& result, const BenchOptions& options, std::FILE* out);

}  // namespace refrain::replay
