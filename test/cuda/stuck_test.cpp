// Promise 3: a driver that never returns from a call of Refrain's own keeps neither the program nor its end, nor does a
// system that refuses one.

#include <catch2/catch.hpp>
#include <string>

#include "test/cuda/contract.h"

using contract::Words;
using run_program::Result;
using run_program::run;

namespace {

constexpr double kSeconds = run_program::kSanitized ? 200 : 50;

/// One of its threads calls `function`, from which it never returns.
void goes_on_without(const Words& program, const std::string& function,
                     const std::map<std::string, std::string>& more = {}) {
  CAPTURE(program, function);
  auto variables = more;
  const std::string output = run(program, "plain", 0, variables).output;
  variables["SIM_STUCK"] = function;
  const std::string stuck = "sim: " + function + " does not return";
  const auto happened = [&](const Result& result) { return result.errors.find(stuck) != std::string::npos; };
  const Result result = child::run_until([&](const Result& each) { return happened(each) || each.exit_code != 0; },
                                         [&] { return run(program, "replay", 0, variables, kSeconds); });
  CAPTURE(result.errors);
  CHECK(happened(result));
  CHECK(result.exit_code == 0);
  CHECK(result.output == output);
  CHECK(result.errors.find("the driver has not returned for 5 s from ") != std::string::npos);
}

}  // namespace

TEST_CASE("a driver that never returns from making a graph, or taking one back, keeps nobody", "[promise-3]") {
#ifdef PROGRAMS_ON_HIP
  const char* const function =
      GENERATE("hipGraphCreate", "hipGraphAddKernelNode", "hipGraphInstantiate", "hipGraphExecDestroy");
#else
  const char* const function = GENERATE("cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags",
                                        "cuGraphUpload", "cuGraphExecDestroy", "cuGraphDestroy");
#endif
  goes_on_without({"destroys_all"}, function);
}

TEST_CASE("a driver that never returns from submitting what was held keeps no program from its end", "[promise-3]") {
#ifdef PROGRAMS_ON_HIP
  const std::string launch = "hipModuleLaunchKernel";
#else
  const std::string launch = "cuLaunchKernel";
#endif
  goes_on_without({"destroys_all", "held"}, launch, {{"REFRAIN_HOLD_LIMIT_US", "1000000"}});
  goes_on_without({"destroys_all", "watched"}, launch, {{"REFRAIN_HOLD_LIMIT_US", "1000000"}});
}

TEST_CASE("a device that is busy for any time keeps nobody from giving streams back, nor from its end", "[promise-3]") {
  contract::same_everywhere({"busy_device"}, 1000, {{"SIM_WORKERS", "1"}});
  for (int time = 0; time < 10; ++time) {
    CHECK(run({"busy_device", "ends"}, "replay", 0, {{"SIM_WORKERS", "1"}}, kSeconds).exit_code == 0);
  }
}

TEST_CASE("a system that refuses to wake a thread of Refrain's keeps no program from its end", "[promise-3]") {
  contract::same_everywhere({"refused", "shutdown"}, 1000);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a program with room for itself and the driver's thread has room for Refrain's", "[promise-7]") {
  const Result plain = run({"refused", "memory"}, "plain", 0);
  CHECK(plain.exit_code == 0);
  const Result result = run({"refused", "memory"}, "replay", 0);
  CAPTURE(result.errors);
  CHECK(result.exit_code == 0);
  CHECK(result.output == plain.output);
}
#endif
