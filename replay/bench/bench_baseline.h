// A result of the bench held against an earlier one, which was printed as JSON.
//
// Graphs are known by what they are, their fingerprint, and not by their number, which another capture may give to
// another graph. Eager runs, made in turns with the native ones of either result, are the control: load and clock of
// the machine meet both. So a graph is called slower if its native runs are, and are in relation to the eager ones as
// well.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "replay/bench/bench_report.h"

namespace refrain::replay {

struct Baseline {
  std::string file;
  std::string api, platform, device, driver;
  bool fewest_parts = false;
  std::vector<BenchRow> rows;  ///< graph, fingerprint, chunk, and times; nothing else is looked at
};

/// Throws std::runtime_error, which names the file and what is wrong with it.
Baseline read_baseline(const std::string& file);

/// Pairs rows of equal fingerprint and chunk size, in their order. `tolerance`: as a share.
BenchComparison compare(const Baseline& baseline, const BenchResult& result, bool fewest_parts, double tolerance);

void print_comparison(const BenchComparison& comparison, std::FILE* out);
nlohmann::json json_of(const BenchComparison& comparison);

}  // namespace refrain::replay
