// The bench between reading the file and printing: what it found, and how it is printed.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "backends/standalone_device.h"
#include "capture/model.h"
#include "replay/bench/bench.h"
#include "replay/bench/bench_statistics.h"

namespace refrain::replay {

struct BenchRow {
  std::uint32_t graph = 0;
  std::uint32_t chunk = 0;  ///< 0: whole parts
  std::size_t nodes = 0, edges = 0;
  std::uint64_t occurrences = 0;
  std::size_t parts = 0, native_parts = 0;
  std::uint32_t pairs = 0;  ///< timed; fewer than asked for if that took too long
  BenchTime eager, native;
  double ratio = 0;         ///< eager / native: above 1, native is faster
  std::size_t made_up = 0;  ///< buffers whose contents the capture does not hold
};

struct BenchProblem {
  std::uint32_t graph = 0;
  std::string reason;
  bool failure = false;  ///< wrong bytes, or an error while running; else it could not be benched
};

struct BenchResult {
  std::string file;
  capture::DeviceInfo device;
  std::vector<BenchRow> rows;
  std::vector<BenchProblem> problems;
};

/// Benches these graphs of a capture on a device; progress on `err`.
BenchResult bench_graphs(const BenchOptions& options, const capture::Capture& capture,
                         const std::vector<const capture::StoredGraph*>& graphs, backends::StandaloneDevice& device,
                         std::FILE* err);

void print_table(const BenchResult& result, const BenchOptions& options, std::FILE* out);
void print_json(const BenchResult& result, const BenchOptions& options, std::FILE* out);

}  // namespace refrain::replay
