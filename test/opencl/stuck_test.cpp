// Promise 3: a driver that never returns from a call of Refrain's own keeps neither the program nor its end.

#include <catch2/catch.hpp>
#include <string>

#include "test/opencl/run_program.h"

using run_program::Result;

TEST_CASE("a driver that never returns from what Refrain's threads call keeps no program", "[promise-3]") {
  const auto [function, how] = GENERATE(table<std::string, std::string>({{"clCreateCommandBufferKHR", ""},
                                                                         {"clFinalizeCommandBufferKHR", ""},
                                                                         {"clReleaseCommandBufferKHR", ""},
                                                                         {"clCreateKernel", ""},
                                                                         {"clRetainMemObject", ""},
                                                                         {"clEnqueueNDRangeKernel", "held"}}));
  CAPTURE(function);
  run_program::Options options;
  options.arguments = {"releases_all"};
  if (!how.empty()) {
    options.arguments.push_back(how);
  }
  options.seconds = 100;
  const std::string output = run_program::run(options).output;
  options.layers = run_program::error_layer() + ":" + run_program::refrain_layer();
  options.environment = {{"REFRAIN_MODE", "replay"},
                         {"REFRAIN_GATE", "0"},
                         {"REFRAIN_HOLD_LIMIT_US", "1000000"},
                         {"ERROR_LAYER_STUCK", function}};
  const std::string stuck = "error layer: " + function + " does not return";
  const auto happened = [&](const Result& result) { return result.errors.find(stuck) != std::string::npos; };
  const Result result = child::run_until([&](const Result& each) { return happened(each) || each.exit_code != 0; },
                                         [&] { return run_program::run(options); });
  CAPTURE(result.errors);
  CHECK(happened(result));
  CHECK(result.exit_code == 0);
  CHECK(result.output == output);
  CHECK(result.errors.find("the driver has not returned for 5 s from ") != std::string::npos);
}
