#include "capture/graph.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <random>
#include <set>

namespace refrain::capture {
namespace {

using Pair = std::pair<NodeIndex, NodeIndex>;

struct Op {
  ObjectId queue = 1;
  std::vector<std::uint64_t> waits = {};  // sequences of this lane
  OperationKind kind = OperationKind::kOther;
  std::uint16_t flags = 0;
  Token token = 7;
};

class Bench {
 public:
  GraphBuilder builder;
  NodeIndex add(const Op& op) {
    bytes_.clear();
    OperationWriter writer(bytes_);
    OperationHeader& header = writer.begin(op.kind, op.token);
    header.queue = op.queue;
    header.sequence = ++sequence_;
    header.flags = op.flags;
    if (op.kind == OperationKind::kKernel) {
      header.function = op.token;
      writer.words(words::Kernel{.dimensions = 1, .offset = {1, 1, 1}, .global = {1, 1, 1}, .local = {1, 1, 1}});
    }
    for (const std::uint64_t wait : op.waits) {
      writer.wait(kInternalWait | wait);
    }
    writer.finish();
    return builder.add(OperationView(bytes_.data()));
  }
  void out_of_order(ObjectId queue) {
    QueueInfo info;
    info.id = queue;
    info.in_order = false;
    builder.declare_queue(info);
  }
  void declare(ObjectId queue, DefaultOrder order, ObjectId context = 1) {
    QueueInfo info;
    info.id = queue;
    info.context = context;
    info.default_order = order;
    builder.declare_queue(info);
  }

 private:
  RecordBytes bytes_;
  std::uint64_t sequence_ = 0;
};

std::vector<Pair> pairs(const Graph& graph) {
  std::vector<Pair> result;
  for (const Edge& edge : graph.edges()) {
    result.emplace_back(edge.from, edge.to);
  }
  return result;
}

constexpr auto kBarrierFlags = static_cast<std::uint16_t>(kWaitsForQueue | kBlocksQueue);

double milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

TEST_CASE("an in-order queue is a chain in record order") {
  Bench bench;
  for (int i = 0; i < 4; ++i) {
    bench.add({.kind = OperationKind::kKernel, .token = static_cast<Token>(10 + i)});
  }
  const Graph graph = bench.builder.finish();
  CHECK(pairs(graph) == std::vector<Pair>{{0, 1}, {1, 2}, {2, 3}});
  CHECK(graph.edges()[0].reason == EdgeReason::kQueueOrder);
  for (NodeIndex node = 0; node < 4; ++node) {
    CHECK(graph.operation(node).token() == 10 + node);
    CHECK(graph.operation(node).header().sequence == node + 1);
  }
  CHECK(bench.builder.size() == 0);
}

TEST_CASE("predecessor and successor lists equal the edges") {
  Bench bench;
  bench.out_of_order(1);
  bench.add({});
  bench.add({.waits = {1}});
  bench.add({.waits = {1}});
  bench.add({.waits = {2, 3}});
  const Graph graph = bench.builder.finish();
  CHECK(pairs(graph) == std::vector<Pair>{{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const auto list = [](std::span<const NodeIndex> nodes) { return std::vector<NodeIndex>(nodes.begin(), nodes.end()); };
  CHECK(list(graph.successors(0)) == std::vector<NodeIndex>{1, 2});  // shared by both
  CHECK(list(graph.predecessors(3)) == std::vector<NodeIndex>{1, 2});
  CHECK(graph.predecessors(0).empty());
  CHECK(graph.successors(3).empty());
}

TEST_CASE("two queues are ordered by events only") {
  Bench bench;
  bench.add({.queue = 1});
  bench.add({.queue = 2});
  bench.add({.queue = 2, .waits = {1}});
  bench.add({.queue = 1, .waits = {3}});
  const Graph graph = bench.builder.finish();
  // 0 → 3 (queue order) follows from 0 → 2 → 3.
  CHECK(pairs(graph) == std::vector<Pair>{{0, 2}, {1, 2}, {2, 3}});
  CHECK(graph.edges()[0].reason == EdgeReason::kEvent);
  CHECK(graph.edges()[1].reason == EdgeReason::kQueueOrder);
  CHECK(graph.queue_of(0).id == 1);
  CHECK(graph.queue_of(1).id == 2);
  CHECK(graph.queue_of(1).in_order);
}

TEST_CASE("an out-of-order queue orders nothing but barriers and markers") {
  Bench bench;
  bench.out_of_order(1);
  SECTION("nothing") {
    bench.add({});
    bench.add({});
    CHECK(bench.builder.finish().edges().empty());
  }
  SECTION("a barrier: all before it, all after it") {
    bench.add({});
    bench.add({});
    bench.add({.kind = OperationKind::kBarrier, .flags = kBarrierFlags});
    bench.add({});
    bench.add({});
    const Graph graph = bench.builder.finish();
    CHECK(pairs(graph) == std::vector<Pair>{{0, 2}, {1, 2}, {2, 3}, {2, 4}});
    CHECK(graph.edges()[0].reason == EdgeReason::kBarrier);
  }
  SECTION("what waits for something else comes after the barrier as well") {
    bench.add({.queue = 2});
    bench.add({.kind = OperationKind::kBarrier, .flags = kBarrierFlags});
    bench.add({.waits = {1}});
    CHECK(pairs(bench.builder.finish()) == std::vector<Pair>{{0, 2}, {1, 2}});
  }
  SECTION("a barrier with a wait list: only what it names before it, all after it") {
    bench.add({});
    bench.add({});
    bench.add({.waits = {2}, .kind = OperationKind::kBarrier, .flags = kBlocksQueue});
    bench.add({});
    CHECK(pairs(bench.builder.finish()) == std::vector<Pair>{{1, 2}, {2, 3}});
  }
  SECTION("a barrier after such a barrier still waits for what the first did not name") {
    bench.add({});
    bench.add({});
    bench.add({.waits = {2}, .kind = OperationKind::kBarrier, .flags = kBlocksQueue});
    bench.add({.kind = OperationKind::kBarrier, .flags = kBarrierFlags});
    CHECK(pairs(bench.builder.finish()) == std::vector<Pair>{{1, 2}, {0, 3}, {2, 3}});
  }
  SECTION("a marker: all before it, nothing after it; the next marker comes after it") {
    bench.add({});
    bench.add({.kind = OperationKind::kMarker, .flags = kWaitsForQueue});
    bench.add({});
    bench.add({.kind = OperationKind::kMarker, .flags = kWaitsForQueue});
    CHECK(pairs(bench.builder.finish()) == std::vector<Pair>{{0, 1}, {1, 3}, {2, 3}});
  }
  SECTION("two barriers") {
    bench.add({});
    bench.add({.kind = OperationKind::kBarrier, .flags = kBarrierFlags});
    bench.add({});
    bench.add({.kind = OperationKind::kBarrier, .flags = kBarrierFlags});
    bench.add({});
    CHECK(pairs(bench.builder.finish()) == std::vector<Pair>{{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  }
  SECTION("a barrier of one queue says nothing about another") {
    bench.out_of_order(2);
    bench.add({.queue = 2});
    bench.add({.queue = 1, .kind = OperationKind::kBarrier, .flags = kBarrierFlags});
    bench.add({.queue = 2});
    CHECK(bench.builder.finish().edges().empty());
  }
  SECTION("a flush is not ordered") {
    bench.add({.kind = OperationKind::kBarrier, .flags = kBarrierFlags});
    bench.add({.kind = OperationKind::kFlush});
    bench.add({.kind = OperationKind::kBarrier, .flags = kBarrierFlags});
    CHECK(pairs(bench.builder.finish()) == std::vector<Pair>{{0, 2}});
  }
}

TEST_CASE("waits for work outside the graph are not edges") {
  Bench bench;
  bench.out_of_order(1);
  bench.add({.waits = {77}});
  bench.add({.waits = {2}});  // itself
  CHECK(bench.builder.finish().edges().empty());
}

TEST_CASE("a late edge that closes a cycle is refused with both nodes named") {
  Bench bench;
  bench.out_of_order(1);
  const NodeIndex a = bench.add({.kind = OperationKind::kKernel});
  const NodeIndex b = bench.add({.waits = {1}, .kind = OperationKind::kCopyBuffer});
  const NodeIndex c = bench.add({.kind = OperationKind::kBarrier});
  std::string error;
  CHECK_FALSE(bench.builder.then(b, a, &error));
  CHECK(error == "cannot put node 1 (copy buffer) before node 0 (kernel): that would close a cycle");
  CHECK_FALSE(bench.builder.then(a, a, &error));
  CHECK_FALSE(bench.builder.then(a, 9, &error));
  CHECK(error == "cannot put node 0 (kernel) before node 9: the graph has 3 nodes");

  // From a later node to an earlier one is fine as long as nothing leads back.
  REQUIRE(bench.builder.then(c, a, &error));
  CHECK_FALSE(bench.builder.then(b, c, &error));  // c → a → b
  std::vector<NodeIndex> numbers;
  const Graph graph = bench.builder.finish(&numbers);
  CHECK(numbers == std::vector<NodeIndex>{1, 2, 0});
  CHECK(pairs(graph) == std::vector<Pair>{{0, 1}, {1, 2}});
  CHECK(graph.operation(0).kind() == OperationKind::kBarrier);
  CHECK(graph.edges()[0].reason == EdgeReason::kExplicit);
}

TEST_CASE("when_all joins branches") {
  Bench bench;
  bench.out_of_order(1);
  for (int i = 0; i < 4; ++i) {
    bench.add({});
  }
  const std::vector<NodeIndex> branches{0, 1, 2};
  REQUIRE(bench.builder.when_all(branches, 3));
  CHECK(pairs(bench.builder.finish()) == std::vector<Pair>{{0, 3}, {1, 3}, {2, 3}});
}

TEST_CASE("an empty graph") {
  GraphBuilder builder;
  const Graph graph = builder.finish();
  CHECK(graph.empty());
  CHECK(graph.edges().empty());
  CHECK(graph.fingerprint() == builder.finish().fingerprint());
}

TEST_CASE("building by hand and recording give the same fingerprint") {
  Bench recorded;
  for (const Token token : {3, 4, 5}) {
    recorded.add({.token = token});
  }
  const Fingerprint fingerprint = recorded.builder.finish().fingerprint();

  const auto by_hand = [](const std::vector<Token>& tokens, const std::vector<Pair>& edges) {
    Bench bench;
    bench.out_of_order(1);
    for (const Token token : tokens) {
      bench.add({.token = token});
    }
    for (const auto& [from, to] : edges) {
      REQUIRE(bench.builder.then(from, to));
    }
    return bench.builder.finish().fingerprint();
  };
  CHECK(by_hand({3, 4, 5}, {{1, 2}, {0, 1}}) == fingerprint);
  CHECK(by_hand({3, 4, 5}, {{0, 2}, {0, 1}, {1, 2}}) == fingerprint);  // a redundant edge changes nothing
  CHECK(by_hand({3, 4, 5}, {{0, 1}}) != fingerprint);
  CHECK(by_hand({4, 3, 5}, {{0, 1}, {1, 2}}) != fingerprint);
  CHECK(by_hand({3, 4}, {{0, 1}}) != fingerprint);
}

TEST_CASE("random graphs equal brute-force reduction") {
  std::mt19937 random(20240711);
  for (int round = 0; round < 400; ++round) {
    const auto nodes = static_cast<NodeIndex>(2 + random() % (round % 10 == 0 ? 150U : 24U));
    const double density = 0.02 + 0.3 * static_cast<double>(random() % 100) / 100;
    // A random numbering, so that by-hand edges also lead backwards.
    std::vector<NodeIndex> order(nodes);
    for (NodeIndex i = 0; i < nodes; ++i) {
      order[i] = i;
    }
    if (round % 2 == 1) {
      std::shuffle(order.begin(), order.end(), random);
    }
    Bench bench;
    bench.out_of_order(1);
    for (NodeIndex i = 0; i < nodes; ++i) {
      bench.add({.token = 100 + i});
    }
    std::vector<std::vector<bool>> edge(nodes, std::vector<bool>(nodes));
    for (NodeIndex i = 0; i < nodes; ++i) {
      for (NodeIndex j = i + 1; j < nodes; ++j) {
        if (std::uniform_real_distribution<>()(random) < density) {
          edge[order[i]][order[j]] = true;
          REQUIRE(bench.builder.then(order[i], order[j]));
        }
      }
    }
    auto path = edge;  // transitive closure
    for (NodeIndex k = 0; k < nodes; ++k) {
      for (NodeIndex i = 0; i < nodes; ++i) {
        for (NodeIndex j = 0; path[i][k] && j < nodes; ++j) {
          path[i][j] = path[i][j] || path[k][j];
        }
      }
    }
    std::vector<NodeIndex> numbers;
    const Graph graph = bench.builder.finish(&numbers);
    std::set<Pair> expected;
    for (NodeIndex i = 0; i < nodes; ++i) {
      for (NodeIndex j = 0; j < nodes; ++j) {
        bool needed = edge[i][j];
        for (NodeIndex k = 0; needed && k < nodes; ++k) {
          needed = !(path[i][k] && path[k][j]);
        }
        if (needed) {
          expected.insert({numbers[i], numbers[j]});
        }
      }
    }
    const auto got = pairs(graph);
    REQUIRE(std::set<Pair>(got.begin(), got.end()) == expected);
    REQUIRE(got.size() == expected.size());
    for (NodeIndex i = 0; i < nodes; ++i) {
      REQUIRE(graph.operation(numbers[i]).token() == 100 + i);
    }
    for (const auto& [from, to] : got) {
      REQUIRE(from < to);
    }
  }
}

TEST_CASE("large graphs are built in time near linear in their size") {
  Bench bench;
  std::size_t edges = 0;
  SECTION("a chain of 100 000") {
    for (int i = 0; i < 100'000; ++i) {
      bench.add({});
    }
    edges = 99'999;
  }
  SECTION("30 000 stacked diamonds") {
    bench.out_of_order(1);
    bench.add({});
    for (std::uint64_t i = 0; i < 30'000; ++i) {
      const std::uint64_t top = 1 + 3 * i;
      bench.add({.waits = {top}});
      bench.add({.waits = {top}});
      bench.add({.waits = {top + 1, top + 2}});
    }
    edges = 120'000;
  }
  SECTION("a second queue that waits for a whole first one, node by node") {
    for (int i = 0; i < 50'000; ++i) {
      bench.add({.queue = 1});
    }
    for (std::uint64_t i = 0; i < 50'000; ++i) {
      bench.add({.queue = 2, .waits = {i + 1}});
    }
    edges = 49'999 + 50'000 + 49'999;
  }
  SECTION("100 layers of 1000 between barriers") {
    bench.out_of_order(1);
    for (int layer = 0; layer < 100; ++layer) {
      for (int i = 0; i < 1000; ++i) {
        bench.add({});
      }
      bench.add({.kind = OperationKind::kBarrier, .flags = kBarrierFlags});
    }
    edges = 100 * 1000 + 99 * 1000;
  }
  const auto start = std::chrono::steady_clock::now();
  const Graph graph = bench.builder.finish();
  const double time = milliseconds(start);
  std::printf("%zu nodes, %zu edges: %.1f ms\n", graph.size(), graph.edges().size(), time);
  CHECK(graph.edges().size() == edges);
  CHECK(time < 5000);  // quadratic work would take minutes
}

TEST_CASE("a default queue comes after what was submitted to the queues in order with it, and before what follows") {
  Bench bench;
  bench.declare(1, DefaultOrder::kIsDefault);
  bench.declare(2, DefaultOrder::kWithDefault);
  bench.declare(3, DefaultOrder::kNone);
  bench.declare(4, DefaultOrder::kWithDefault, 2);  // another context has another default queue
  bench.add({.queue = 2});                          // 0
  bench.add({.queue = 3});                          // 1
  bench.add({.queue = 4});                          // 2
  bench.add({.queue = 1});                          // 3: after 0 only
  bench.add({.queue = 2});                          // 4: after 3, and so after 0
  bench.add({.queue = 3});                          // 5: after 1 only
  bench.add({.queue = 4});                          // 6: after 2 only
  CHECK(pairs(bench.builder.finish()) == std::vector<Pair>{{0, 3}, {3, 4}, {1, 5}, {2, 6}});
}

}  // namespace refrain::capture
