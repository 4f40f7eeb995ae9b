// Promise 3: a driver that never returns from a call of Refrain's own keeps neither the program nor its end.

#include <catch2/catch.hpp>
#include <string>

#include "test/level_zero/run_program.h"

using run_program::Result;
using run_program::run;

TEST_CASE("a driver that never returns from what Refrain's threads call keeps no program", "[promise-3]") {
  const auto [function, how] = GENERATE(table<std::string, std::string>({{"zeCommandListCreate", ""},
                                                                         {"zeCommandListAppendLaunchKernel", ""},
                                                                         {"zeCommandListClose", ""},
                                                                         {"zeCommandListDestroy", ""},
                                                                         {"zeEventPoolDestroy", ""},
                                                                         {"zeCommandListAppendLaunchKernel", "held"}}));
  CAPTURE(function, how);
  std::vector<std::string> program = {"destroys_all"};
  if (!how.empty()) {
    program.push_back(how);
  }
  const std::string output = run(program, "plain").output;
  const std::string stuck = "sim: " + function + " does not return";
  const auto happened = [&](const Result& result) { return result.errors.find(stuck) != std::string::npos; };
  const Result result = child::run_until(
      [&](const Result& each) { return happened(each) || each.exit_code != 0; },
      [&, function = function] {
        return run(program, "replay", 0, {{"SIM_STUCK", function}, {"REFRAIN_HOLD_LIMIT_US", "1000000"}}, 100);
      });
  CAPTURE(result.errors);
  CHECK(happened(result));
  CHECK(result.exit_code == 0);
  CHECK(result.output == output);
  CHECK(result.errors.find("the driver has not returned for 5 s from ") != std::string::npos);
}
