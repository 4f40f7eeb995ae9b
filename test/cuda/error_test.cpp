// Promise 5, same errors: the driver fails at one call after the other.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

#include "test/cuda/contract.h"
#include "test/cuda/run_program.h"
#include "test/support/refusal.h"

using run_program::kSanitized;
using run_program::Result;
using run_program::run;

namespace {

constexpr const char* kInjected = "error 701 from ";  // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES

/// How often the error at each call of `program` in turn was told to it. Otherwise it must have printed what it
/// always does. `which`: SIM_FAIL_AT, calls that submit or make something, or SIM_FAIL_CALL, all. `part`: one call in
/// so many; seeds share them.
long fail_everywhere(const std::string& program, const std::string& mode, int seed, long step,
                     const std::string& which = "SIM_FAIL_AT", long part = child::nightly() ? 1 : 2) {
  const std::string count_file = child::scratch("calls");
  // Short, so that a program may outwait it.
  const std::map<std::string, std::string> limit = {{"REFRAIN_HOLD_LIMIT_US", "1000"}};
  auto variables = limit;
  variables["SIM_COUNT"] = count_file;
  const Result good = run({program}, mode, seed, variables);
  REQUIRE(good.exit_code == 0);
  long submissions = 0;
  long all = 0;
  std::ifstream(count_file) >> submissions >> all;
  const long calls = which == "SIM_FAIL_AT" ? submissions : all;
  REQUIRE(calls > 50);
  long told = 0;
  // The first part, where objects are made, then in steps: ../refusals refuses all calls of what is held.
  const bool dense = !kSanitized && which == "SIM_FAIL_AT";
  for (long call = 1 + seed % part; call <= calls; call += part * (call < 50 && dense ? 1 : 1 + calls / step)) {
    variables = limit;
    variables[which] = std::to_string(call);
    const Result result = run({program}, mode, seed, variables);
    CAPTURE(program, mode, seed, call, calls);
    INFO("output: " << result.output);
    INFO("errors: " << result.errors.substr(0, 3000));
    CHECK(result.exit_code >= 0);  // neither crashed nor hung
    CHECK(result.errors.find("violation") == std::string::npos);
    if (result.exit_code == 0) {
      CHECK(result.output == good.output);
    } else {
      CHECK(result.output.find(kInjected) != std::string::npos);
      ++told;
    }
  }
  return told;
}

}  // namespace

TEST_CASE("an error at each call in turn reaches the application or is passed through", "[promise-5]") {
  const long step = kSanitized ? 10 : 24;
  CHECK(fail_everywhere("short_mix", "plain", 0, step) > 0);
  CHECK(fail_everywhere("short_mix", "observe", 1, step) > 0);
  CHECK(fail_everywhere("short_mix", "replay", 1, 2 * step) > 0);
  CHECK(fail_everywhere("short_mix", "replay", 2, step) > 0);
  CHECK(fail_everywhere("short_events", "replay", 1, 2 * step) > 0);
  CHECK(fail_everywhere("short_mix", "replay", 1, step, "SIM_FAIL_CALL") > 0);
  CHECK(fail_everywhere("short_events", "replay", 2, step, "SIM_FAIL_CALL") > 0);
}

TEST_CASE("an error of work that another thread or nobody waited for reaches the application", "[promise-5]") {
  const long step = kSanitized ? 10 : 30;
  CHECK(fail_everywhere("short_handed", "plain", 0, step) > 0);
  CHECK(fail_everywhere("short_handed", "replay", 1, step) > 0);
  CHECK(fail_everywhere("short_handed", "replay", 2, step) > 0);
}

#ifndef PROGRAMS_ON_HIP
TEST_CASE("a kernel of which the driver tells some parameters only is launched with all of them") {
  const Result good = run({"short_mix"}, "plain");
  const std::string file = child::scratch("refusal");
  std::ofstream(file) << std::string(support::Refusal::kFileBytes, '\0');
  REQUIRE(setenv("REFUSAL_FILE", file.c_str(), 1) == 0);  // for this process and its children
  support::Refusal* const refusal = support::Refusal::find();
  REQUIRE(refusal != nullptr);
  for (int parameter = 1; parameter <= 3; ++parameter) {
    refusal->refuse(parameter, "GetParamInfo", false);
    const Result result = run({"short_mix"}, "replay");
    CAPTURE(parameter);
    INFO("output: " << result.output);
    INFO("errors: " << result.errors.substr(0, 3000));
    CHECK(result.exit_code == 0);
    CHECK(result.output == good.output);
    CHECK(result.errors.find("violation") == std::string::npos);
    CHECK(refusal->name().ends_with("GetParamInfo"));
  }
  unsetenv("REFUSAL_FILE");
}
#endif

TEST_CASE("launches while the process ends get the driver's answer, which refuses them", "[promise-5]") {
  const contract::Words program{"at_exit"};
  contract::same_everywhere(program, 1000, {{"SIM_END_AT", "5"}});  // before anything is held
  CHECK(run(program, "replay", 0, {{"SIM_END_AT", "5"}}).output.find("late: 4 4 4 4 4 4 4 4 4\n") != std::string::npos);
}

TEST_CASE("arguments that the driver refuses to change never leave a graph half changed", "[promise-5]") {
  const long step = kSanitized ? 10 : 30;
  // Any call may be the one that changes a node in the middle.
  CHECK(fail_everywhere("short_numbers", "replay", 1, step, "SIM_FAIL_AT", 1) > 0);
  CHECK(fail_everywhere("short_numbers", "replay", 2, 2 * step, "SIM_FAIL_CALL", 1) > 0);
}
