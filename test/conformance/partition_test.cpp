// docs/conformance.md: partitioning, on graphs captured from programs of each API, and on those programs under the
// layer.
#include "replay/graph/partition.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <set>

#include "test/conformance/support.h"

using namespace conformance;
using namespace refrain::capture;
using refrain::replay::PartGroup;
using refrain::replay::partition;
using refrain::replay::Partitioning;
using refrain::replay::PartitionMode;

namespace {

constexpr const char* kSection = "Partitioning";
using Groups = std::vector<PartGroup>;

/// Host work splits; everything else may be together.
Groups groups_of(const Graph& graph) {
  Groups groups;
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    groups.push_back(graph.operation(node).kind() == OperationKind::kHostFunction ? 0 : 1);
  }
  return groups;
}

/// The captured nodes with other edges.
GraphBuilder builder_of(const Graph& graph, std::size_t nodes) {
  GraphBuilder builder;
  for (QueueInfo queue : graph.queues()) {
    queue.in_order = false;
    queue.default_order = QueueInfo{}.default_order;
    builder.declare_queue(queue);
  }
  for (NodeIndex node = 0; node < nodes; ++node) {
    builder.add(graph.operation(node));
  }
  return builder;
}

bool acyclic(const Graph& graph, const std::vector<std::uint32_t>& part_of, std::uint32_t parts) {
  std::vector<std::uint64_t> reach(parts);
  for (std::uint32_t round = 0; round < parts; ++round) {
    for (const Edge& edge : graph.edges()) {
      if (part_of[edge.from] != part_of[edge.to]) {
        reach[part_of[edge.from]] |= std::uint64_t{1} << part_of[edge.to] | reach[part_of[edge.to]];
      }
    }
  }
  for (std::uint32_t part = 0; part < parts; ++part) {
    if ((reach[part] >> part & 1U) != 0) {
      return false;
    }
  }
  return true;
}

/// Fewest parts there can be, by trying all.
std::uint32_t optimum(const Graph& graph, const Groups& groups) {
  std::uint32_t best = static_cast<std::uint32_t>(graph.size()) + 1;
  std::vector<std::uint32_t> part_of(graph.size());
  const std::function<void(std::size_t, std::uint32_t)> extend = [&](std::size_t node, std::uint32_t used) {
    if (used >= best) {
      return;
    }
    if (node == graph.size()) {
      best = acyclic(graph, part_of, used) ? used : best;
      return;
    }
    for (std::uint32_t part = 0; part <= used; ++part) {
      bool allowed = true;
      for (std::size_t other = 0; other < node && allowed; ++other) {
        allowed = part_of[other] != part || (groups[other] == groups[node] && groups[node] != 0);
      }
      if (allowed) {
        part_of[node] = part;
        extend(node + 1, std::max(used, part + 1));
      }
    }
  };
  extend(0, 0);
  return best;
}

Graph chain_of(const std::string& program, std::size_t nodes) {
  const Capture capture = captured(program);
  const Graph found = most_frequent(capture, nodes).graph();
  return builder_of(found, found.size()).finish();
}

}  // namespace

ROW("split at host work: before / host / after") {
  if (verdict.lacks(Feature::kHostFunction)) {
    return;
  }
  const Capture capture = captured("host_middle");
  const Graph graph = most_frequent(capture, 3).graph();
  const Partitioning parts = partition(graph, groups_of(graph), {}, PartitionMode::kNoFalseWait);
  REQUIRE(graph.size() == (api() == "level_zero" ? 4 : 3));  // there the wait is for an event of a barrier
  REQUIRE(parts.parts.size() == 3);
  REQUIRE_FALSE(parts.parts[1].native);
  same("host_middle", 0);
  verdict.passes();
}

ROW("fewest parts") {
  std::mt19937 random(7);
  const Graph nodes = chain_of("chain", 9);
  for (int round = 0; round < 60; ++round) {
    const std::size_t count = 4 + random() % 5;
    GraphBuilder builder = builder_of(nodes, count);
    Groups groups;
    for (NodeIndex to = 0; to < count; ++to) {
      groups.push_back(random() % 3 == 0 ? 0 : 1);
      for (NodeIndex from = 0; from < to; ++from) {
        if (random() % 4 == 0) {
          REQUIRE(builder.then(from, to));
        }
      }
    }
    const Graph graph = builder.finish();
    const Partitioning parts = partition(graph, groups, {}, PartitionMode::kFewestParts);
    REQUIRE(parts.parts.size() == optimum(graph, groups));
  }
  same("fork_join", 1, {{"REFRAIN_PARTITION", "fewest_parts"}});
  verdict.passes("60 random graphs of up to 8 of the program's nodes here; up to 10 nodes: partition_test");
}

ROW("numbered in order, made only at finalize (late edges)") {
  const Graph nodes = chain_of("chain", 6);
  GraphBuilder builder = builder_of(nodes, 4);
  const Groups groups{1, 0, 1, 1};
  REQUIRE(builder.then(0, 1));
  REQUIRE(builder.then(1, 2));
  REQUIRE(builder.then(0, 3));
  REQUIRE(builder.then(2, 3));  // late
  const Graph graph = builder.finish();
  const Partitioning parts = partition(graph, groups, {}, PartitionMode::kFewestParts);
  REQUIRE(parts.parts.size() == 3);
  REQUIRE(parts.part_of == std::vector<std::uint32_t>{0, 1, 2, 2});
  for (std::uint32_t part = 0; part < parts.parts.size(); ++part) {
    for (const std::uint32_t wait : parts.parts[part].waits) {
      REQUIRE(wait < part);
    }
  }
  verdict.passes();
}

ROW("group merge when a late edge joins two groups") {
  const Graph nodes = chain_of("chain", 6);
  GraphBuilder builder = builder_of(nodes, 6);
  REQUIRE(builder.then(0, 1));
  REQUIRE(builder.then(2, 3));
  REQUIRE(builder.then(1, 3));  // late: what were two groups is one
  REQUIRE(builder.then(3, 4));
  REQUIRE(builder.then(4, 5));
  const Graph graph = builder.finish();
  const Partitioning parts = partition(graph, Groups{1, 1, 1, 1, 0, 1}, {}, PartitionMode::kNoFalseWait);
  REQUIRE(parts.parts.size() == 3);
  verdict.passes();
}

ROW("several roots: only real predecessors are enforced") {
  if (verdict.lacks(Feature::kHostFunction)) {
    return;
  }
  same("roots", 0);  // this would hang
  same("roots", 0, {{"REFRAIN_PARTITION", "fewest_parts"}});
  verdict.passes();
}

ROW("completion tied to all tails") {
  if (verdict.lacks(Feature::kHostFunction)) {
    return;
  }
  same("tails", 0);
  verdict.passes();
}

ROW("in-order hint for single-path parts") {
  const Run run = same("chain", 500);
  if (!simulated()) {
    verdict.passes(
        "in-order queues: recorded without sync points (opencl_replay_test); queues with profiling are issued "
        "eagerly");
    return;
  }
  const std::size_t events = run.calls_of("cuEventRecord", 0.2) + run.calls_of("cuStreamWaitEvent", 0.2) +
                             run.calls_of("hipEventRecord", 0.2) + run.calls_of("hipStreamWaitEvent", 0.2);
  REQUIRE(events == 0);
  verdict.passes(api() == "level_zero" ? "" : "a chain is launched without any event; there is no profiling of queues");
}

ROW("copy-engine split (Level Zero)") {
  if (api() != "level_zero") {
    verdict.cannot_express("graphs place copies on copy engines by themselves; there is nothing to split");
    return;
  }
  same("buffers", 100, {{"SIM_ZE_COPY_ENGINE", "1"}});
  verdict.limit(
      "what a program gives to a queue that can only copy stays there (test/level_zero); copies in other queues are "
      "not moved to one, which costs two events each: docs/apis/level_zero.md");
}
