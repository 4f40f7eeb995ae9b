// Captures of programs on the simulated device, and the bench on them: CUDA's, and with PROGRAMS_ON_HIP HIP's.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "capture/reader.h"
#include "test/cuda/run_process.h"

#ifdef PROGRAMS_ON_HIP
inline constexpr const char* kApi = "hip";
inline const std::string kDriverHere = std::string("REFRAIN_HIP_LIBRARY=") + SIM_HIP;
#else
inline constexpr const char* kApi = "cuda";
inline const std::string kDriverHere = std::string("REFRAIN_CUDA_DRIVER=") + SIM_CUDA;
#endif

/// Runs a program in capture mode. It finds the library where it looks for the driver, as instrumented programs cannot
/// have it preloaded.
inline Outcome run_captured(const std::vector<std::string>& command, const std::string& file, bool portable,
                            const std::string& seed) {
  return run(command, {std::string("LD_LIBRARY_PATH=") + SHIM_FOLDER, kDriverHere, "SIM_SEED=" + seed,
                       "REFRAIN_MODE=capture", "REFRAIN_CAPTURE_FILE=" + file,
                       std::string("REFRAIN_PORTABLE=") + (portable ? "on" : "off"), "REFRAIN_REPORT=off"});
}

/// Captures the program; returns what the file holds. The seed is even, so that addresses come again.
inline refrain::capture::Capture captured(const std::string& file, bool portable,
                                          const std::vector<std::string>& command = {CAPTURE_PROGRAM, "5"}) {
  const Outcome outcome = run_captured(command, file, portable, "2");
  CAPTURE(outcome.output);
  REQUIRE(outcome.status == 0);
  CHECK(outcome.output == run(command, {"SIM_SEED=2"}).output);
  std::string error;
  auto capture = refrain::capture::read_capture(file, &error);
  CAPTURE(error);
  REQUIRE(capture);
  CHECK(capture->cut_short.empty());
  return std::move(*capture);
}

inline const refrain::capture::StoredGraph& loop_of(const refrain::capture::Capture& capture) {
  const auto found = std::ranges::find_if(capture.graphs, [](const auto& graph) { return graph.size() == 8; });
  REQUIRE(found != capture.graphs.end());
  return *found;
}

inline Outcome bench(const std::string& file, const std::vector<std::string>& options,
                     const std::vector<std::string>& environment = {}) {
  std::vector<std::string> command{REFRAIN, "bench", "--quiet"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(file);
  std::vector<std::string> all{kDriverHere};
  all.insert(all.end(), environment.begin(), environment.end());
  return run(command, all);
}
