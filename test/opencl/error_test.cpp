// Promise 5, same errors: a layer underneath fails one call after the other.

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "test/opencl/run_program.h"

using run_program::Result;

namespace {

Result run_failing(const std::string& program, const std::string& mode, long call, const std::string& count_file = "",
                   const std::string& only = "") {
  run_program::Options options;
  options.arguments = {program};
  // The last one named is outermost: the layer that fails is below Refrain.
  options.layers =
      mode == "plain" ? run_program::error_layer() : run_program::error_layer() + ":" + run_program::refrain_layer();
  options.environment = {{"REFRAIN_GATE", "0"},
                         {"REFRAIN_MODE", mode == "plain" ? "off" : mode},
                         {"REFRAIN_CAPTURE_FILE", run_program::scratch("capture.rfn")},
                         {"REFRAIN_HOLD_LIMIT_US", "1000"},  // short, so that a program may outwait it
                         {"ERROR_LAYER_TRACE", "1"},
                         {"ERROR_LAYER_CALL", std::to_string(call)}};
  if (!count_file.empty()) {
    options.environment["ERROR_LAYER_COUNT"] = count_file;
  }
  if (!only.empty()) {
    options.environment["ERROR_LAYER_ONLY"] = only;
  }
  options.seconds = 60;
  return run_program::run(options);
}

/// The result must be what the program would have printed, or it was told of the very error.
void check_result(const Result& result, const std::string& good) {
  INFO("output: " << result.output);
  INFO("errors: " << result.errors.substr(0, 3000));
  CHECK(result.exit_code >= 0);  // neither crashed nor hung
  if (result.exit_code == 0) {
    CHECK(result.output == good);
  } else {
    CHECK(result.output.find("error -5 from ") != std::string::npos);  // CL_OUT_OF_RESOURCES, as injected
  }
}

}  // namespace

TEST_CASE("an error at each call in turn reaches the application or is passed through", "[promise-5]") {
  const std::string count_file = run_program::scratch("calls");
  for (const char* mode : {"replay", "observe"}) {
    INFO("mode " << mode);
    const Result good = run_failing("short_mix", mode, 0, count_file);
    REQUIRE(good.exit_code == 0);
    long calls = 0;
    std::ifstream(count_file) >> calls;
    REQUIRE(calls > 50);
    // The first part, where objects are made, then in steps: ../refusals refuses every call of what is held.
    const long part = child::nightly() ? 1 : 2;  // the modes share the calls
    long last_told = 0;
    for (long call = *mode == 'r' ? 1 : part; call <= calls; call += part * (call < 60 ? 1 : 1 + calls / 30)) {
      INFO("call " << call << " of " << calls);
      const Result result = run_failing("short_mix", mode, call);
      check_result(result, good.output);
      last_told = result.exit_code != 0 ? call : last_told;
    }
    CHECK(last_told > 0);
  }
}

TEST_CASE("an error inside a command buffer retires the graph, and the work is done eagerly", "[promise-5]") {
  // Functions of the extension are not in the table; what a recorded kernel needs is.
  const Result good = run_failing("short_mix", "plain", 0);
  REQUIRE(good.exit_code == 0);
  for (const char* function : {"clCreateKernel", "clCreateUserEvent", "clSetEventCallback", "clSetKernelArg"}) {
    for (long call = 1; call <= 12; ++call) {
      INFO(function << " " << call);
      run_program::Options options;
      options.arguments = {"short_mix"};
      options.layers = run_program::error_layer() + ":" + run_program::refrain_layer();
      options.environment = {
          {"REFRAIN_GATE", "0"}, {"ERROR_LAYER_ONLY", function}, {"ERROR_LAYER_CALL", std::to_string(call * call)}};
      check_result(run_program::run(options), good.output);
    }
  }
}

TEST_CASE("a launch that is refused while it is submitted late is told, by a call and by its event", "[promise-5]") {
  const std::string count_file = run_program::scratch("launches");
  for (const char* program : {"short_handed", "short_refused"}) {
    for (const char* mode : {"plain", "replay"}) {
      CAPTURE(program, mode);
      const Result good = run_failing(program, mode, 0, count_file, "clEnqueueNDRangeKernel");
      REQUIRE(good.exit_code == 0);
      long calls = 0;
      std::ifstream(count_file) >> calls;
      REQUIRE(calls > 50);
      long told = 0;
      for (long call = 1; call <= calls; call += 1 + calls / (child::nightly() ? 40 : 15)) {
        CAPTURE(call, calls);
        const Result result = run_failing(program, mode, call, "", "clEnqueueNDRangeKernel");
        check_result(result, good.output);
        told += result.exit_code != 0 ? 1 : 0;
      }
      CHECK(told > 2);
    }
  }
}
