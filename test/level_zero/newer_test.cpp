// Functions that newer versions of the API bring, offered and not: what they submit keeps its place among what is held,
// what is around them is replayed, and what a program records into graphs of its own is neither held nor changed.

#include <catch2/catch.hpp>
#include <string>

#include "test/level_zero/compare.h"

using run_program::check_clean;
using run_program::Result;
using run_program::run;
using run_program::same_everywhere;
using run_program::Variables;
using run_program::Words;

namespace {

/// With what a program needs, and with and without what Refrain submits lists by.
void same_with(const std::string& needed, const Words& program, long least) {
  for (const char* more : {"", ",append", ",append,mutable"}) {
    CAPTURE(needed, more);
    same_everywhere(program, least, {{"SIM_ZE_EXTENSIONS", needed + more}});
  }
}

}  // namespace

TEST_CASE("promise 1, same order: functions of the host among what is held", "[promise-1]") {
  same_with("host", {"host_functions"}, 800);
}

TEST_CASE("a function of the host that waits for later commands of a list without order") {
  for (const char* more : {"host", "host,append"}) {
    CAPTURE(more);
    same_everywhere({"waiting_host_function"}, 100, {{"SIM_ZE_EXTENSIONS", more}, {"SIM_WORKERS", "4"}});
  }
}

TEST_CASE("promise 4, same data: appends with more parameters are held if they have none", "[promise-4]") {
  same_with("parameters", {"more_parameters"}, 800);
}

TEST_CASE("promise 4, same data: launches that bring their arguments, which stay set", "[promise-4]") {
  same_with("parameters", {"launched_with_arguments"}, 200);
}

TEST_CASE("promise 1, same order: closed lists are appended to the list whose commands are held", "[promise-1]") {
  same_with("append", {"appended_lists"}, 600);
  same_with("append,parameters", {"appended_lists", "newest"}, 600);
}

TEST_CASE("questions about lists and events submit nothing: stretches go on across them") {
  same_with("questions", {"asked"}, 700);
  const Result result =
      run({"asked"}, "replay", 1, {{"SIM_ZE_EXTENSIONS", "append,questions"}, {"REFRAIN_REPORT", "1"}});
  check_clean(result);
  CHECK(result.errors.find("zeCommandListImmediateGetMode") == std::string::npos);
}

TEST_CASE("functions that are in tables are the same by their names: setters, launches, memory that goes",
          "[promise-4]") {
  same_with("address", {"by_address"}, 1000);
  same_with("address", {"by_address", "launched"}, 1000);
}

TEST_CASE("a driver's own table of functions stays what it is, and nothing is held from then on", "[promise-1]") {
  same_with("table", {"own_table"}, 100);
  const Result result = run({"own_table"}, "replay", 1, {{"SIM_ZE_EXTENSIONS", "table"}});
  CHECK(result.errors.find("a table of functions of the driver's own") != std::string::npos);
}

TEST_CASE("after a driver's own setter nothing is held", "[promise-4]") {
  same_with("address", {"drivers_setter"}, 300);
}

TEST_CASE("promise 1, same order: a graph of the program's own among what is held", "[promise-1]") {
  same_with("graph", {"own_graph"}, 1200);
}

TEST_CASE("promise 1, same order: two lists in a graph of the program's own, beside one that is not", "[promise-1]") {
  same_with("graph", {"forked_graph", "events"}, 800);
  same_with("graph,counter", {"forked_graph", "counters"}, 800);
}

TEST_CASE("graphs that the driver refuses, and two that are recorded at once") {
  same_with("graph", {"refused_graph"}, 500);
}

TEST_CASE("a graph of the program's own that waits for what only the program sets", "[promise-1]") {
  same_with("graph", {"graph_that_waits"}, 300);
}

TEST_CASE("a graph of the program's own is a submission, and the report says so") {
  const Result result = run({"own_graph"}, "replay", 1, {{"SIM_ZE_EXTENSIONS", "graph"}, {"REFRAIN_REPORT", "1"}});
  check_clean(result);
  CHECK(result.errors.find("it is a graph that the program recorded itself") != std::string::npos);
}

TEST_CASE("the simulated driver has no functions of what is left out") {
  for (const char* which : {"host_functions", "more_parameters", "asked", "own_graph", "own_table", "by_address"}) {
    CAPTURE(which);
    const Result result = run({which}, "plain", 0, {{"SIM_ZE_EXTENSIONS", ""}});
    CHECK(result.output.find("zeDriverGetExtensionFunctionAddress") != std::string::npos);
    CHECK(result.exit_code == 3);
  }
}
