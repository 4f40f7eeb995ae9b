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

/// Whether few launches go by way of the runtime: all do if none is skipped; usually two thirds do, because not all are
/// predicted at first, and some never. Graphs are built in the background and are late on a busy machine: a longer
/// program gives them the time.
bool launches_are_skipped(const Words& more, const char* program = LAUNCH_PROGRAM) {
  constexpr int kTries = 5;
  bool skipped = false;
  for (int i = 0, rounds = kRounds; i < kTries && !skipped; ++i, rounds *= 2) {
    const Outcome plain = launch({}, false, rounds, program);
    const Outcome replayed = launch(more, true, rounds, program);
    CAPTURE(plain.output, rounds, runtime_calls(plain), runtime_calls(replayed));
    REQUIRE(plain.status == 0);
    REQUIRE(replayed.status == 0);
    REQUIRE(replayed.output == plain.output);
    skipped = runtime_calls(replayed) < runtime_calls(plain) * 3 / 4;
  }
  return skipped;
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
    CHECK(launches_are_skipped({"SIM_SEED=" + std::to_string(seed), "REFRAIN_GATE=off"}));
  }
  CHECK(launches_are_skipped({"REFRAIN_MODE=verify", "REFRAIN_GATE=off"}));
}

TEST_CASE("a runtime that a package has given another name is found") {
  CHECK(launches_are_skipped({"REFRAIN_GATE=off"}, LAUNCH_PROGRAM "_renamed"));
}

TEST_CASE("launches go through the runtime where nothing is to be skipped") {
  const Outcome plain = launch({}, false);
  for (const Words& environment : {Words{"REFRAIN_GATE=off", "REFRAIN_SKIP_RUNTIME=off"}, Words{"REFRAIN_MODE=observe"},
                                   Words{"REFRAIN_MODE=off"}, Words{"REFRAIN_CUDA=off"}}) {
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
