// docs/conformance.md: building graphs. Graphs come from captures of programs of each API.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <type_traits>

#include "test/conformance/support.h"

using namespace conformance;
using namespace refrain::capture;

namespace {

constexpr const char* kSection = "Building graphs";

/// What must come before what, whatever the driver's calls were called.
std::set<std::pair<NodeIndex, NodeIndex>> orders(const Graph& graph) {
  std::set<std::pair<NodeIndex, NodeIndex>> all;
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    for (const NodeIndex before : graph.predecessors(node)) {
      all.emplace(before, node);
      for (NodeIndex earlier = 0; earlier < node; ++earlier) {
        if (all.contains({earlier, before})) {
          all.emplace(earlier, node);
        }
      }
    }
  }
  return all;
}

std::vector<NodeIndex> kernels_of(const Graph& graph) {
  std::vector<NodeIndex> list;
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    if (graph.operation(node).kind() == OperationKind::kKernel) {
      list.push_back(node);
    }
  }
  return list;
}

/// The same nodes again, from their records alone.
Graph rebuilt(const Graph& graph, bool by_hand) {
  GraphBuilder builder;
  for (QueueInfo queue : graph.queues()) {
    queue.in_order = queue.in_order && !by_hand;
    queue.default_order = by_hand ? QueueInfo{}.default_order : queue.default_order;
    builder.declare_queue(queue);
  }
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    REQUIRE(builder.add(graph.operation(node)) == node);
  }
  if (by_hand) {
    for (const Edge& edge : graph.edges()) {
      REQUIRE(builder.then(edge.from, edge.to));
    }
  }
  return builder.finish();
}

}  // namespace

ROW("explicit building and record-and-replay share one infrastructure") {
  for (const char* program : {"chain", "fork_join"}) {
    const Capture capture = captured(program);
    const Graph graph = most_frequent(capture, 6).graph();
    CAPTURE(program);
    REQUIRE(graph.size() >= 6);
    REQUIRE(rebuilt(graph, true).fingerprint() == graph.fingerprint());
  }
  verdict.passes();
}

ROW("node = one submission, predecessor and successor lists") {
  const Capture capture = captured("fork_join");
  const Graph graph = most_frequent(capture, 6).graph();
  const auto order = orders(graph);
  const std::vector<NodeIndex> k = kernels_of(graph);  // as in programs_graphs.cpp
  REQUIRE(k.size() == 6);
  const auto before = [&](std::size_t a, std::size_t b) { return order.contains({k[a], k[b]}); };
  const std::set<std::pair<std::size_t, std::size_t>> unordered{{1, 2}, {1, 3}, {2, 3}};
  for (std::size_t a = 0; a < 6; ++a) {
    for (std::size_t b = a + 1; b < 6; ++b) {
      CAPTURE(a, b);
      REQUIRE(before(a, b) == !unordered.contains({a, b}));
    }
  }
  for (const Edge& edge : graph.edges()) {
    const auto next = graph.successors(edge.from);
    const auto previous = graph.predecessors(edge.to);
    REQUIRE(std::ranges::find(next, edge.to) != next.end());
    REQUIRE(std::ranges::find(previous, edge.from) != previous.end());
  }
  verdict.passes();
}

ROW("execution order: reverse depth-first, breadth-first and others selectable") {
  const long least = api() == "cuda" || api() == "hip" ? 50 : 1;
  for (const char* order : {"submission", "breadth_first", "depth_first"}) {
    CAPTURE(order);
    same("fork_join", least, {{"REFRAIN_ORDER", order}});
    same("shapes", least, {{"REFRAIN_ORDER", order}});
  }
  verdict.passes("the simulated device runs whatever the order leaves open in any order: results identical");
}

ROW("scheduler bypass") {
  const Run run = same("chain", 500, kWholeChunks);
  // Ten launches a round, one submission.
  const double each = static_cast<double>(run.number("replayed")) / static_cast<double>(run.number("launches"));
  CAPTURE(each);
  REQUIRE(each > 9.5);
  if (!simulated()) {
    verdict.passes("ten launches are one command buffer");
    return;
  }
  const std::size_t launches = run.calls_of("cuLaunchKernel", 0.2) + run.calls_of("hipModuleLaunchKernel", 0.2) +
                               run.calls_of("zeCommandListAppendLaunchKernel", 0.2);
  const std::size_t graphs = run.calls_of("cuGraphLaunch", 0.2) + run.calls_of("hipGraphLaunch", 0.2) +
                             run.calls_of("zeCommandQueueExecuteCommandLists", 0.2) +
                             run.calls_of("zeCommandListImmediateAppendCommandListsExp", 0.2);
  CAPTURE(launches, graphs);
  REQUIRE(graphs > 0);
  REQUIRE(launches == 0);
  verdict.passes();
}

ROW("dependencies settled before first replay") {
  same("upload", 100);
  verdict.passes();
}

ROW("acyclic by construction (`then`, `when_all`), checked with late edges") {
  const Capture capture = captured("chain");
  const Graph graph = most_frequent(capture, 8).graph();
  GraphBuilder builder;
  for (const QueueInfo& queue : graph.queues()) {
    builder.declare_queue(queue);
  }
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    builder.add(graph.operation(node));
  }
  std::string error;
  REQUIRE_FALSE(builder.then(6, 2, &error));
  CAPTURE(error);
  REQUIRE(error.find('6') != std::string::npos);
  REQUIRE(error.find('2') != std::string::npos);
  REQUIRE(builder.then(1, 5, &error));
  const NodeIndex befores[] = {0, 3};
  REQUIRE(builder.when_all(befores, 7, &error));
  REQUIRE(builder.finish().fingerprint() == graph.fingerprint());  // both were implied
  verdict.passes();
}

ROW("phases: a modifiable graph cannot run, an executable one cannot change topology") {
  // At compile time: a GraphBuilder has no way to be recorded, a Graph none to be changed.
  static_assert(!std::is_convertible_v<GraphBuilder, Graph>);
  static_assert(std::is_same_v<decltype(std::declval<const Graph&>().edges()), std::span<const Edge>>);
  const Capture capture = captured("chain");
  const Graph graph = most_frequent(capture, 8).graph();
  REQUIRE(rebuilt(graph, false).fingerprint() == graph.fingerprint());
  verdict.passes("compile-time: GraphBuilder and Graph are different types");
}

ROW("root node, aggregate node, shared successors, empty graph, repeated submit") {
  same("shapes", api() == "cuda" || api() == "hip" ? 100 : 1);
  GraphBuilder nothing;
  REQUIRE(nothing.finish().empty());
  verdict.passes();
}

ROW("code between submissions is not repeated by a replay") {
  same("host_code", 300);
  verdict.passes();
}
