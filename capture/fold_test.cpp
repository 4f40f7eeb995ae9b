#include "capture/fold.h"

#include <catch2/catch.hpp>
#include <string>

#include "test/capture/records.h"

namespace refrain::capture {
namespace {

struct Step {
  FunctionId function = 1;
  ObjectId queue = 1;
  std::vector<std::uint64_t> waits = {};  // nodes
};

Graph graph_of(const std::vector<Step>& steps) {
  GraphBuilder builder;
  TestRecord record;
  std::uint64_t sequence = 0;
  for (const Step& step : steps) {
    TestRecord::Kernel kernel{.function = step.function, .queue = step.queue, .sequence = ++sequence};
    if (step.waits.empty()) {
      builder.add(record.kernel(kernel));
      continue;
    }
    RecordBytes bytes;
    OperationWriter writer(bytes);
    writer.begin(OperationKind::kKernel, 100 + step.function);
    writer.header().function = step.function;
    writer.header().queue = step.queue;
    writer.header().sequence = sequence;
    writer.words(words::Kernel{.dimensions = 1, .offset = {}, .global = {64, 1, 1}, .local = {64, 1, 1}});
    for (const std::uint64_t node : step.waits) writer.wait(kInternalWait | static_cast<WaitRef>(node + 1));
    writer.finish();
    builder.add(OperationView(bytes.data()));
  }
  return builder.finish();
}

FoldedGraph folded(const std::vector<Step>& steps) {
  const Graph graph = graph_of(steps);
  std::vector<std::uint64_t> looks;
  for (const Step& step : steps) looks.push_back(step.function * 10 + step.queue);
  return fold(graph, looks);
}

// "2x(0 3x1)"
std::string text(const std::vector<FoldedItem>& items) {
  std::string result;
  for (const FoldedItem& item : items) {
    result += result.empty() ? "" : " ";
    if (item.times > 1) result += std::to_string(item.times) + "x";
    result += item.body.empty() ? std::to_string(item.node) : "(" + text(item.body) + ")";
  }
  return result;
}

}  // namespace

TEST_CASE("a chain of equal nodes is one, which follows itself") {
  const FoldedGraph graph = folded(std::vector<Step>(100));
  CHECK(text(graph.items) == "100x0");
  CHECK(graph.together[0] == 100);
  CHECK(graph.together[1] == 0);
  REQUIRE(graph.edges.size() == 1);
  CHECK(graph.edges[0].next_turn);
  CHECK(graph.edges[0].times == 99);
}

TEST_CASE("loops within loops are found, and what is beside them stays") {
  std::vector<Step> steps{{9}};
  for (int turn = 0; turn < 5; ++turn) {
    steps.insert(steps.end(), 3, {1});
    steps.push_back({2});
  }
  steps.push_back({8});
  const FoldedGraph graph = folded(steps);
  CHECK(text(graph.items) == "0 5x(3x1 4) 21");
  CHECK(graph.stands_for[7] == 1);
  CHECK(graph.together[1] == 15);
  CHECK(graph.together[4] == 5);
  // 0 → 1, 1 → 1, 1 → 4, 4 → 1 in the next turn, 4 → 21.
  CHECK(graph.edges.size() == 5);
  std::uint32_t all = 0;
  for (const FoldedEdge& edge : graph.edges) {
    all += edge.times;
    CHECK(edge.next_turn == (edge.to <= edge.from));
  }
  CHECK(all == steps.size() - 1);
}

TEST_CASE("turns that hang together otherwise are not folded") {
  // Queue 2 waits for queue 1 in all turns but the third.
  std::vector<Step> steps;
  for (std::uint64_t turn = 0; turn < 6; ++turn) {
    steps.push_back({1, 1});
    steps.push_back({2, 3, turn == 2 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{2 * turn}});
  }
  const FoldedGraph graph = folded(steps);
  // From 5 on each turn of the loop follows on the one before; 5 itself on nothing.
  CHECK(text(graph.items) == "2x(0 1) 4 3x(5 6) 11");
}

TEST_CASE("nothing repeats, nothing is folded") {
  const FoldedGraph graph = folded({{1}, {2}, {3}, {1}, {3}, {2}});
  CHECK(text(graph.items) == "0 1 2 3 4 5");
  CHECK(folded({}).items.empty());
}

}  // namespace refrain::capture
