// What drivers offer beyond the first version of the API, with and without each: command lists whose commands change,
// events that count, queues that can only copy.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "test/level_zero/compare.h"

using run_program::check_clean;
using run_program::Result;
using run_program::run;
using run_program::same_everywhere;
using run_program::Variables;

namespace {

Variables extensions(const char* names) {
  return {{"SIM_ZE_EXTENSIONS", names}};
}

/// How often a run of `program` under the layer calls a function of the driver; tried again until it is `least` times.
long calls_of(const std::string& function, const std::string& program, Variables more, long least = 0) {
  const std::string log = child::scratch("calls.log");
  more["SIM_LOG"] = log;
  long count = 0;
  child::run_until([&](const Result& /*checked*/) { return count >= least; },
                   [&] {
                     std::filesystem::remove(log);
                     Result result = run({program}, "replay", 1, more);
                     check_clean(result);
                     std::ifstream lines(log);
                     count = 0;
                     for (std::string line; std::getline(lines, line);) {
                       count += line.rfind(function, 0) == 0 ? 1 : 0;
                     }
                     return result;
                   });
  return count;
}

constexpr const char* kUpdate = "zeCommandListUpdateMutableCommandsExp";

}  // namespace

TEST_CASE("arguments that change each time are written into recorded lists") {
  for (const char* names : {"mutable", "append,mutable"}) {
    CAPTURE(names);
    same_everywhere({"updates"}, 1000, extensions(names));
    same_everywhere({"arguments"}, 1500, extensions(names));
    CHECK(calls_of(kUpdate, "updates", extensions(names), 100) >= 100);
  }
}

TEST_CASE("without mutable lists, or with the setting, nothing is changed") {
  same_everywhere({"updates"}, 0, extensions("append"));
  CHECK(calls_of(kUpdate, "updates", extensions("append")) == 0);
  CHECK(calls_of(kUpdate, "updates", {{"SIM_ZE_EXTENSIONS", "append,mutable"}, {"REFRAIN_UPDATES", "never"}}) == 0);
}

TEST_CASE("two sets of arguments in turns are one for each instance: nothing is changed any more") {
  CHECK(calls_of(kUpdate, "ping_pong", extensions("append,mutable")) < 100);  // 400 rounds
}

TEST_CASE("what mutable lists cannot change gets lists of its own") {
  for (const char* names : {"append", "mutable", "append,mutable"}) {
    CAPTURE(names);
    same_everywhere({"turns"}, 800, extensions(names));
  }
}

TEST_CASE("an application's own mutable lists") {
  same_everywhere({"own_mutable_list"}, 500, extensions("mutable"));
  same_everywhere({"own_mutable_list"}, 500, extensions("append,mutable"));
}

TEST_CASE("the simulated driver sees that a rule of mutable lists is broken") {
  for (const char* which : {"in_flight", "not_closed", "not_asked", "never_closed", "not_mutable"}) {
    CAPTURE(which);
    const Result result = run({"broken_rule", which}, "plain");
    CHECK(result.output.find("refused 1") != std::string::npos);
    CHECK(result.errors.find("violation") != std::string::npos);
  }
}

TEST_CASE("counter-based events: what uses them is never held, and what lies between is") {
  for (const char* names : {"counter", "append,counter", "append,counter,mutable"}) {
    CAPTURE(names);
    same_everywhere({"counter_events"}, 1500, extensions(names));
  }
}

TEST_CASE("a queue that can only copy: its graphs stay there") {
  for (const char* names : {"", "append", "append,mutable"}) {
    for (const char* engine : {"0", "1"}) {
      CAPTURE(names, engine);
      same_everywhere({"copy_engine"}, 500, {{"SIM_ZE_EXTENSIONS", names}, {"SIM_ZE_COPY_ENGINE", engine}});
    }
  }
}
