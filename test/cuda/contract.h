// Runs small programs plain and in every mode, which must print the same and break no rule of the API.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "test/cuda/run_program.h"

namespace contract {

using run_program::kSanitized;
using run_program::Result;
using run_program::run;

using Words = std::vector<std::string>;

/// Graphs of a single operation, for programs that hardly submit two to one stream without an event in between.
inline const std::map<std::string, std::string> kShort{{"REFRAIN_MIN_GRAPH", "1"}};

/// For kernels that wait for others: a device that runs several at once, and takes memory for graphs as real ones do.
inline const std::map<std::string, std::string> kGates{{"SIM_WORKERS", "4"}, {"SIM_GRAPH_MEMORY", "1"}};

inline void check_clean(const Result& result) {
  INFO("output: " << result.output.substr(0, 2000));
  INFO("errors: " << result.errors.substr(0, 4000));
  CHECK(result.exit_code == 0);
  CHECK(result.errors.find("violation") == std::string::npos);
  CHECK(result.errors.find("[refrain] error") == std::string::npos);
}

/// Runs plain and in all modes, for several orders in which the driver may work; outputs must agree. `least`:
/// operations that must have been replayed with each; `more`: of the environment.
inline void same_everywhere(const Words& program, long least, const std::map<std::string, std::string>& more = {}) {
  const Result plain = run(program, "plain", 0, more);
  check_clean(plain);
  REQUIRE(plain.output.find("end 0") != std::string::npos);
  for (const child::Way& way : child::ways()) {
    CAPTURE(way.seed, way.mode);
    const bool replay = way.mode == "replay";
    const Result result = child::run_until_replayed(replay ? least : 0, plain.output,
                                                    [&] { return run(program, way.mode, way.seed, more); });
    check_clean(result);
    CHECK(result.output == plain.output);
    if (way.mode == "plain") {
      continue;  // the program itself leaves nothing open
    }
    REQUIRE(result.reported);  // the proof that the layer was in
    CHECK(result.submissions > 0);
    if (replay) {
      CHECK(result.replayed >= least);
    } else if (way.mode != "gate") {
      CHECK(result.replayed == 0);
    }
  }
}

}  // namespace contract
