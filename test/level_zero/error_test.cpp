// Promise 5, same errors: the driver fails at one call after the other.

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "test/level_zero/run_program.h"

using run_program::kSanitized;
using run_program::Result;
using run_program::run;

namespace {

constexpr const char* kInjected = "error 70000003 from ";  // ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY

/// How often the error at each call of `program` in turn was told to it. Otherwise it must have printed what it
/// always does.
long fail_everywhere(const std::string& program, const std::string& mode, int seed, long step,
                     const std::string& extensions) {
  const std::string count_file = child::scratch("calls");
  std::map<std::string, std::string> variables = {
      {"SIM_COUNT", count_file},
      {"SIM_ZE_EXTENSIONS", extensions},
      {"REFRAIN_HOLD_LIMIT_US", "1000"},  // short, so that a program may outwait it
  };
  const Result good = run({program}, mode, seed, variables);
  REQUIRE(good.exit_code == 0);
  long calls = 0;
  std::ifstream(count_file) >> calls;
  REQUIRE(calls > 50);
  long told = 0;
  // Every call of the first part, where objects are made and graphs built, then in steps.
  for (long call = 1; call <= calls; call += call < 30 && !kSanitized ? 1 : 1 + calls / step) {
    variables["SIM_FAIL_AT"] = std::to_string(call);
    const Result result = run({program}, mode, seed, variables);
    CAPTURE(program, mode, seed, call, calls);
    INFO("output: " << result.output);
    INFO("errors: " << result.errors.substr(0, 3000));
    CHECK(result.exit_code >= 0);  // neither crashed nor hung
    if (result.exit_code == 0) {
      CHECK(result.errors.find("violation") == std::string::npos);
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
  const long step = kSanitized ? 8 : 20;
  CHECK(fail_everywhere("short_mix", "plain", 0, step, "") > 0);
  CHECK(fail_everywhere("short_mix", "observe", 1, step, "") > 0);
  CHECK(fail_everywhere("short_mix", "replay", 1, 2 * step, "") > 0);
  CHECK(fail_everywhere("short_mix", "replay", 2, step, "append") > 0);
  CHECK(fail_everywhere("short_updates", "replay", 1, 2 * step, "mutable") > 0);
  CHECK(fail_everywhere("short_updates", "replay", 2, 2 * step, "append,mutable") > 0);
  CHECK(fail_everywhere("short_events", "replay", 1, 2 * step, "") > 0);
  CHECK(fail_everywhere("short_events", "replay", 2, step, "append") > 0);
  CHECK(fail_everywhere("short_graph", "replay", 1, step, "graph") > 0);
  CHECK(fail_everywhere("short_graph", "replay", 2, step, "graph,append") > 0);
}

TEST_CASE("what the driver does not give back at once is no reason that a context cannot be destroyed", "[promise-5]") {
  const std::string count_file = child::scratch("calls");
  std::map<std::string, std::string> variables = {{"SIM_COUNT", count_file}, {"SIM_ZE_EXTENSIONS", ""}};
  const Result good = run({"short_mix"}, "replay", 1, variables);
  REQUIRE(good.exit_code == 0);
  long submissions = 0;
  long calls = 0;
  std::ifstream(count_file) >> submissions >> calls;
  REQUIRE(calls > 200);
  int refused = 0;  // to Refrain
  for (long call = calls - 80; call <= calls; ++call) {
    variables["SIM_FAIL_CALL"] = std::to_string(call);
    const Result result = run({"short_mix"}, "replay", 1, variables);
    CAPTURE(call, calls);
    INFO("output: " << result.output);
    INFO("errors: " << result.errors.substr(0, 3000));
    if (result.exit_code == 0) {
      CHECK(result.errors.find("violation") == std::string::npos);
      CHECK(result.output == good.output);
      refused += result.errors.find("failure injected into ze") != std::string::npos ? 1 : 0;
    } else {
      CHECK(result.output.find(kInjected) != std::string::npos);
    }
  }
  CHECK(refused > 3);
}

TEST_CASE("an error of work that another thread or nobody waited for reaches the application", "[promise-5]") {
  const long step = kSanitized ? 8 : 60;
  CHECK(fail_everywhere("short_handed", "plain", 0, step, "") > 0);
  CHECK(fail_everywhere("short_handed", "replay", 1, step, "") > 0);
  CHECK(fail_everywhere("short_handed", "replay", 2, step, "append") > 0);
}
