// Where blocking launches were asked for, or a profiler is there, nothing is held.

#include "test/cuda/contract.h"

using contract::check_clean;
using run_program::Result;
using run_program::run;

TEST_CASE("promise 3, bounded hold: where launches block, nothing is held", "[promise-3]") {
#ifdef PROGRAMS_ON_HIP
  const std::vector<std::string> variables = {"HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL"};
#else
  const std::vector<std::string> variables = {"CUDA_LAUNCH_BLOCKING"};
#endif
  for (const std::string& variable : variables) {
    CAPTURE(variable);
    CHECK(run({"blocking"}, "plain", 0, {{variable, "1"}}).output == "stale reads none\nend 0\n");
    for (const char* mode : {"replay", "gate"}) {
      const Result result = run({"blocking"}, mode, 1, {{variable, "1"}, {"SIM_RACES", "0"}});
      check_clean(result);
      CHECK(result.output == "stale reads none\nend 0\n");
      CHECK(result.replayed == 0);
      const auto said = result.errors.find(variable + "=1 asks for work that is done when its call returns");
      REQUIRE(said != std::string::npos);
      CHECK(result.errors.find("asks for work", said + variable.size() + 10) == std::string::npos);  // once
    }
    const Result forced = run({"blocking"}, "replay", 1, {{variable, "1"}, {"REFRAIN_STAND_ASIDE", "0"}});
    CHECK(forced.errors.find("asks for work") == std::string::npos);
    CHECK(forced.replayed > 0);
  }
}

#ifndef PROGRAMS_ON_HIP
TEST_CASE("promise 5, same errors: what names another context is refused or taken as without Refrain", "[promise-5]") {
  contract::same_everywhere({"strangers"}, 1);
}

TEST_CASE("promise 3, bounded hold: nothing is held once CUPTI is used", "[promise-3]") {
  const Result plain = run({"profiled"}, "plain");
  const Result late = child::run_until_replayed(1, plain.output, [] { return run({"profiled"}, "replay", 1); });
  check_clean(late);
  CHECK(late.output == plain.output);
  CHECK(late.replayed > 0);
  CHECK(late.errors.find("begins to use CUPTI") != std::string::npos);
  CHECK(run({"profiled", "first"}, "replay", 1).replayed == 0);
  const Result forced = run({"profiled", "first"}, "replay", 1, {{"REFRAIN_STAND_ASIDE", "0"}});
  CHECK(forced.replayed > 0);
  CHECK(forced.errors.find("CUPTI") == std::string::npos);
}
#endif
