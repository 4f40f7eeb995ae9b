// docs/conformance.md: memory and updates.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "test/conformance/support.h"

using namespace conformance;
using namespace refrain::capture;

namespace {

constexpr const char* kSection = "Memory and updates";

/// Changed arguments are written into recorded graphs, where the API can.
void changes(Verdict& verdict, const char* program, long least) {
  if (api() == "level_zero") {  // drivers without mutable command lists
    same(program, 0, {{"SIM_ZE_EXTENSIONS", "host"}});
    same(program, 0, {{"SIM_ZE_EXTENSIONS", "host,append"}});
    same(program, least, {{"SIM_ZE_EXTENSIONS", "host,mutable"}});
  }
  const bool can = api() != "opencl";
  const Run run = same(program, can ? least : 0);
  same(program, 0, {{"REFRAIN_UPDATES", "never"}});
  if (api() == "level_zero") {
    verdict.passes(
        "arguments of kernels, with ZE_experimental_mutable_command_list; without it a list for each set of "
        "arguments that comes back, else issued eagerly");
  } else if (can) {
    verdict.passes();
  } else {
    const std::string offered = offered_changes(run);
    REQUIRE(offered.find("arguments") == std::string::npos);
    verdict.limit("mutable dispatch offers " + offered +
                  ": a graph for each set of arguments that comes back; updates in place: opencl_versions_test");
  }
}

}  // namespace

ROW("lifetimes") {
  same("lifetimes", api() == "level_zero" ? 0 : 100);
  same("release_in_flight", 100);
  verdict.passes();
}

ROW("update by index") {
  changes(verdict, "by_index", 500);
}

ROW("whole-graph update") {
  changes(verdict, "other_graphs", 50);
}

ROW("dynamic parameters") {
  changes(verdict, "one_scalar", 500);
}

ROW("dynamic command-groups") {
  same("switching", 100);
  verdict.passes("each choice of kernels is a graph of its own, found by its tokens");
}

ROW("update while in flight") {
  if (verdict.lacks(Feature::kHostFunction)) {
    return;
  }
  changes(verdict, "in_flight", 50);  // this would hang
}

ROW("buffers used for the first time") {
  same("first_use", 0);
  verdict.passes();
}

ROW("hazards") {
  same("hazards", 1);
  const Capture capture = captured("hazards");
  const Graph graph = most_frequent(capture, 4).graph();
  // Memory by the bytes that name it; whoever names the same is ordered.
  const auto named = [&](NodeIndex node) {
    std::set<std::vector<std::byte>> all;
    const OperationView operation = graph.operation(node);
    for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
      const auto value = operation.value_of(i);
      if (value.size() == 8) {
        all.emplace(value.begin(), value.end());
      }
    }
    return all;
  };
  std::vector<std::set<NodeIndex>> after(graph.size());
  int conflicts = 0;
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    for (const NodeIndex before : graph.predecessors(node)) {
      after[node].insert(before);
      after[node].insert(after[before].begin(), after[before].end());
    }
    if (graph.operation(node).kind() != OperationKind::kKernel) {
      continue;
    }
    for (NodeIndex earlier = 0; earlier < node; ++earlier) {
      const auto mine = named(node);
      const auto others = named(earlier);
      const bool share = graph.operation(earlier).kind() == OperationKind::kKernel &&
                         std::ranges::any_of(mine, [&](const auto& each) { return others.contains(each); });
      if (share) {
        ++conflicts;
        REQUIRE(after[node].contains(earlier));
      }
    }
  }
  REQUIRE(conflicts == 6);
  verdict.passes(
      "the orders come from queues and events, as the program asked; the simulated device's race detector "
      "checks them at run time");
}
