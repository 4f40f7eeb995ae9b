// Launches by the shared runtime that are held without it (layer/cuda/cudart_launch.h).
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "test/cuda/run_process.h"

namespace {

using Words = std::vector<std::string>;
constexpr int kRounds = 150;
constexpr int kLaunches = 15 * 24 * kRounds / 2;  // seven parts, and one with half as many rounds
/// So many at most go by way of the runtime: all if none is skipped; usually two thirds, because not all are predicted
/// at first, and some never.
constexpr int kNotSkipped = kLaunches * 3 / 4;

Outcome launch(const Words& more, bool refrain = true, int rounds = kRounds, const char* program = LAUNCH_PROGRAM) {
  Words environment = {"LD_LIBRARY_PATH=" SIM_FOLDER ":" RUNTIME_FOLDER, "REFRAIN_REPORT=off"};
  environment.insert(environment.end(), more.begin(), more.end());
  if (refrain) {
    environment.emplace_back("LD_PRELOAD=" SHIM);
  }
  return run({program, std::to_string(rounds)}, environment);
}

/// The simulated runtime looks at the current context at the beginning of every call.
long runtime_calls(const Outcome& outcome) {
  return std::count(outcome.driver_calls.begin(), outcome.driver_calls.end(), "cuCtxGetCurrent");
}

/// Graphs are built in the background: on a busy machine they may be late. Whatever else is wrong is told at once.
Outcome launch_until_skipped(const Words& more, const Outcome& plain, const char* program = LAUNCH_PROGRAM) {
  constexpr int kTries = 10;
  Outcome outcome = launch(more, true, kRounds, program);
  for (int i = 1;
       i < kTries && outcome.status == 0 && outcome.output == plain.output && runtime_calls(outcome) >= kNotSkipped;
       ++i) {
    outcome = launch(more, true, kRounds, program);
  }
  return outcome;
}

/// Without what the device and Refrain say.
std::string own_lines(const std::string& output) {
  std::istringstream lines(output);
  std::string own;
  for (std::string line; std::getline(lines, line);) {
    own += line.starts_with("sim: ") || line.starts_with("[refrain]") ? "" : line + "\n";
  }
  return own;
}

}  // namespace

TEST_CASE("launches that are predicted do not go through the shared runtime") {
  const Outcome plain = launch({}, false);
  CAPTURE(plain.output);
  REQUIRE(plain.status == 0);
  CHECK(count_lines(plain.output, "child: refused") == 1);
  CHECK(count_lines(plain.output, "launches that left no context: 0") == 1);
  REQUIRE(runtime_calls(plain) >= kLaunches);

  for (const int seed : {0, 1, 2}) {
    CAPTURE(seed);
    const std::string seeded = "SIM_SEED=" + std::to_string(seed);
    const Outcome skipped = launch_until_skipped({seeded, "REFRAIN_GATE=off"}, plain);
    CHECK(skipped.status == 0);
    CHECK(skipped.output == plain.output);
    CHECK(runtime_calls(skipped) < kNotSkipped);
  }
}

TEST_CASE("a runtime that a package has given another name is found") {
  const Outcome plain = launch({}, false);
  const Outcome renamed = launch_until_skipped({"REFRAIN_GATE=off"}, plain, LAUNCH_PROGRAM "_renamed");
  CHECK(renamed.status == 0);
  CHECK(renamed.output == plain.output);
  CHECK(runtime_calls(renamed) < kNotSkipped);
}

TEST_CASE("launches go through the runtime where nothing is to be skipped") {
  const Outcome plain = launch({}, false);
  for (const Words& environment :
       {Words{"REFRAIN_GATE=off", "REFRAIN_SKIP_RUNTIME=off"}, Words{"REFRAIN_MODE=observe"},
        Words{"REFRAIN_MODE=verify"}, Words{"REFRAIN_MODE=off"}, Words{"REFRAIN_CUDA=off"}}) {
    CAPTURE(environment.back());
    const Outcome asked = launch(environment);
    CHECK(asked.status == 0);
    CHECK(asked.output == plain.output);
    CHECK(runtime_calls(asked) >= runtime_calls(plain));
  }
}

TEST_CASE("an error that a skipped launch is told becomes the runtime's last one") {
  constexpr int kFew = 40;
  const Outcome plain = launch({}, false, kFew);
  // One call fails: a graph, whose work is submitted again, or what the program submitted itself. Or the next one
  // as well, or all do from then on, so that the launch that submits what is held has an error to tell.
  for (const std::string count : {"1", "2", "1000000"}) {
    int told = 0;
    int skipped = 0;
    for (int call = 40; call < 1400; call += 31) {
      const Outcome failed =
          launch({"REFRAIN_GATE=off", "SIM_SEED=1", "SIM_FAIL_AT=" + std::to_string(call), "SIM_FAIL_COUNT=" + count},
                 true, kFew);
      CAPTURE(call, count, failed.output);
      CHECK(failed.status < 128);
      CHECK(count_lines(failed.output, "not the same") == 0);
      CHECK(count_lines(failed.output, "violation") == 0);
      if (failed.status == 0) {
        CHECK(own_lines(failed.output) == plain.output);
      } else {
        told += count_lines(failed.output, "launch: error 701, last 701");
        CHECK((count != "2" ||
               count_lines(failed.output, "launched again: ") == count_lines(failed.output, "launched again: 0")));
        // The first thing that failed was a graph's launch, and a launch of the program's was told.
        const std::size_t first = failed.output.find("failure injected into ");
        skipped += failed.output.compare(first, 35, "failure injected into cuGraphLaunch") == 0 &&
                           failed.output.find("launch: error 701") != std::string::npos
                       ? 1
                       : 0;
      }
    }
    CAPTURE(count, told, skipped);
    CHECK(told > 0);
    CHECK((skipped > 0) == (count != "1"));
  }
}
