// Replays the graphs of a capture without the application: eager against native.
//
// Method: the code, buffers, images and queues that a graph names are made again on this machine. The graph
// is then run once eagerly and once natively from the same start contents; unless every buffer and image
// involved ends with the same bytes, it is not timed. Eager and native repetitions, of all chunk sizes,
// alternate, so that a change of clock speed or load meets all of them; the figures are medians, with the 10th and 90th
// percentile as spread. Buffers whose contents are not in the file are filled with reproducible pseudo-random bytes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace refrain::replay {

struct BenchOptions {
  std::string file;
  std::vector<std::uint32_t> graphs;  ///< numbers as `refrain dump` shows them; empty: all
  std::uint32_t repetitions = 30;     ///< timed rounds per graph: once eagerly, once with each chunk size; at least 1
  std::uint32_t warm_up = 3;          ///< untimed rounds before
  /// Per graph and chunk size: after this time no further rounds are started, but three are always timed.
  std::uint32_t max_seconds = 10;
  /// Nodes per command buffer; 0: as large as the partition allows. Every size gives a row.
  std::vector<std::uint32_t> chunk_sizes{0};
  bool sweep = false;         ///< instead of `chunk_sizes`: powers of two that divide something, then 0
  std::string baseline;       ///< what an earlier bench printed as JSON; empty: none
  double tolerance = 0;       ///< as a share: a smaller difference from the baseline is none
  bool fewest_parts = false;  ///< partition mode: kFewestParts instead of kNoFalseWait
  std::function<void(const std::string& svg)> plot;  ///< if there is one: gets a picture of what was measured
  bool print = true;                                 ///< the result on `out`; if not, problems are told on `err`
  bool json = false;                                 ///< one JSON object on `out` instead of the table
  bool quiet = false;                                ///< no progress on `err`
  bool trust = false;                                ///< run what is in the file, whoever may have written it
  std::uint32_t platform = 0;                        ///< which platform of this machine (number in `refrain doctor`)
  std::uint32_t device = 0;                          ///< which device of the platform
  std::string device_name;                           ///< if not empty: the first device whose name contains it
  std::string library;                               ///< see backends::DeviceChoice
  std::uint64_t max_memory_mb = 4096;                ///< graphs that need more are listed as skipped
};

/// Runs the bench and prints its result on `out`, progress and errors on `err`. The programs in the file are compiled
/// and run with the user's rights, so it must be the user's own, or BenchOptions::trust set. Addresses in it are never
/// used. Returns the exit status for the program: 0: every graph asked for was benched and equal; 1: some graph gave
/// other bytes natively, or an error; 2: file not readable or not trusted, or wrong options; 3: nothing could be
/// benched, or nothing compared with a baseline; 4: some graph is slower than in the baseline. Graphs that cannot be
/// benched are listed with the reason and do not make it fail on their own.
int run_bench(const BenchOptions& options, std::FILE* out, std::FILE* err);

}  // namespace refrain::replay
