#include "replay/graph/partition.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <random>
#include <set>
#include <utility>

namespace {

using namespace refrain;
using capture::NodeIndex;
using replay::Partitioning;
using replay::PartitionMode;
using Groups = std::vector<replay::PartGroup>;
using Edges = std::vector<std::pair<NodeIndex, NodeIndex>>;
using Outside = std::vector<replay::OutsideEvents>;

constexpr auto kExact = PartitionMode::kNoFalseWait;
constexpr auto kFewest = PartitionMode::kFewestParts;

capture::Graph make_graph(std::size_t nodes, const Edges& edges) {
  capture::GraphBuilder builder;
  capture::QueueInfo queue;
  queue.id = 1;
  queue.in_order = false;
  builder.declare_queue(queue);
  capture::RecordBytes storage;
  for (std::size_t i = 0; i < nodes; ++i) {
    storage.clear();
    capture::OperationWriter writer(storage);
    writer.begin(capture::OperationKind::kMarker, 1).queue = 1;
    writer.header().sequence = i + 1;
    writer.finish();
    builder.add(capture::OperationView(storage.data()));
  }
  for (const auto& [from, to] : edges) {
    REQUIRE(builder.then(from, to));
  }
  return builder.finish();
}

Partitioning split(const Groups& groups, const Edges& edges, PartitionMode mode, const Outside& outside = {}) {
  return replay::partition(make_graph(groups.size(), edges), groups, outside, mode);
}

// reach[a] has bit b set: there is a path from a to b.
std::vector<std::uint64_t> reachability(std::size_t nodes,
                                        const std::set<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  std::vector<std::uint64_t> reach(nodes);
  for (std::size_t round = 0; round < nodes; ++round) {
    for (const auto& [from, to] : edges) {
      reach[from] |= std::uint64_t{1} << to | reach[to];
    }
  }
  return reach;
}

// What is wrong with splitting nodes as `part_of` says; empty if nothing.
std::string defect(const Groups& groups, const Edges& edges, const Outside& outside,
                   const std::vector<std::uint32_t>& part_of, PartitionMode mode) {
  const std::size_t nodes = groups.size();
  std::set<std::pair<std::uint32_t, std::uint32_t>> node_edges(edges.begin(), edges.end());
  std::set<std::pair<std::uint32_t, std::uint32_t>> part_edges;
  for (const auto& [from, to] : edges) {
    if (part_of[from] != part_of[to]) {
      part_edges.emplace(part_of[from], part_of[to]);
    }
  }
  const auto between_nodes = reachability(nodes, node_edges);
  const auto between_parts = reachability(nodes, part_edges);
  const auto node_reaches = [&](std::size_t a, std::size_t b) { return (between_nodes[a] >> b & 1U) != 0; };
  const auto part_reaches = [&](std::size_t a, std::size_t b) {
    return (between_parts[part_of[a]] >> part_of[b] & 1U) != 0;
  };
  for (std::size_t a = 0; a < nodes; ++a) {
    if (part_reaches(a, a)) {
      return "cycle";
    }
    for (std::size_t b = 0; b < nodes; ++b) {
      if (a != b && part_of[a] == part_of[b] && (groups[a] != groups[b] || groups[a] == 0)) {
        return "groups mixed";
      }
      if (mode == kExact && groups[a] != groups[b] && part_reaches(a, b) != node_reaches(a, b)) {
        return "false wait";
      }
      // An outside wait of a delays the whole part of a and all that follows it.
      const bool delays = !outside.empty() && groups[a] != 0 && a != b && groups[b] != 0 &&
                          (part_of[a] == part_of[b] || part_reaches(a, b));
      for (std::size_t i = 0; delays && i < outside[a].size(); ++i) {
        const auto waits = [&](std::size_t node) {
          return groups[node] != 0 && std::ranges::find(outside[node], outside[a][i]) != outside[node].end();
        };
        bool depends = false;
        for (std::size_t node = 0; node < nodes; ++node) {
          depends = depends || (waits(node) && (node == b || node_reaches(node, b)));
        }
        if (!depends) {
          return "false wait for outside";
        }
      }
    }
  }
  return "";
}

std::size_t brute_force(const Groups& groups, const Edges& edges, const Outside& outside, PartitionMode mode) {
  std::size_t best = groups.size() + 1;
  std::vector<std::uint32_t> part_of(groups.size());
  const std::function<void(std::size_t, std::uint32_t)> extend = [&](std::size_t node, std::uint32_t used) {
    if (used >= best) {
      return;
    }
    if (node == groups.size()) {
      if (defect(groups, edges, outside, part_of, mode).empty()) {
        best = used;
      }
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

void check_valid(const Groups& groups, const Edges& edges, const Outside& outside, PartitionMode mode,
                 const Partitioning& result) {
  REQUIRE(result.part_of.size() == groups.size());
  REQUIRE(defect(groups, edges, outside, result.part_of, mode).empty());
  std::size_t total = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> wait_edges, needed;
  for (std::uint32_t part = 0; part < result.parts.size(); ++part) {
    const auto& nodes = result.parts[part].nodes;
    REQUIRE(!nodes.empty());
    REQUIRE(std::ranges::is_sorted(nodes));
    total += nodes.size();
    for (const NodeIndex node : nodes) {
      REQUIRE(result.part_of[node] == part);
      REQUIRE(result.parts[part].group == groups[node]);
      REQUIRE(result.parts[part].native == (groups[node] != 0));
    }
    for (const std::uint32_t wait : result.parts[part].waits) {
      REQUIRE(wait < part);
      wait_edges.emplace(wait, part);
    }
  }
  REQUIRE(total == groups.size());
  for (const auto& [from, to] : edges) {
    if (result.part_of[from] != result.part_of[to]) {
      needed.emplace(result.part_of[from], result.part_of[to]);
    }
  }
  // The waits keep every dependency, invent none, and none of them follows from others.
  const auto kept = reachability(result.parts.size(), wait_edges);
  REQUIRE(kept == reachability(result.parts.size(), needed));
  std::set<std::uint32_t> tails(result.tails.begin(), result.tails.end());
  for (const auto& wait : wait_edges) {
    auto fewer = wait_edges;
    fewer.erase(wait);
    REQUIRE(reachability(result.parts.size(), fewer) != kept);
    REQUIRE(tails.count(wait.first) == 0);
  }
  for (std::uint32_t part = 0; part < result.parts.size(); ++part) {
    REQUIRE((tails.count(part) != 0) == (kept[part] == 0));
  }
}

struct RandomGraph {
  Groups groups;
  Edges edges;
  Outside outside;
};

RandomGraph random_graph(std::mt19937& random, std::size_t max_nodes, std::uint32_t groups, bool with_outside) {
  RandomGraph graph;
  const std::size_t nodes = 1 + random() % max_nodes;
  const auto density = static_cast<unsigned>(1 + random() % 5);
  const auto hosts = static_cast<unsigned>(2 + random() % 4);
  const auto shared = static_cast<unsigned>(random() % 3);  // events that several may wait for
  unsigned events = shared;
  for (std::size_t node = 0; node < nodes; ++node) {
    graph.groups.push_back(random() % hosts == 0 ? 0U : static_cast<unsigned>(1 + random() % groups));
    for (std::size_t before = 0; before < node; ++before) {
      if (random() % 8 < density) {
        graph.edges.emplace_back(before, node);
      }
    }
    if (with_outside) {
      replay::OutsideEvents& waits = graph.outside.emplace_back();
      if (random() % 4 == 0) {
        waits.push_back(events++);
      }
      for (unsigned event = 0; event < shared; ++event) {
        if (random() % 3 == 0) {
          waits.push_back(event);
        }
      }
    }
  }
  return graph;
}

}  // namespace

TEST_CASE("empty graph and one node") {
  REQUIRE(split({}, {}, kExact).parts.empty());
  const auto one = split({1}, {}, kFewest);
  REQUIRE(one.parts.size() == 1);
  REQUIRE(one.tails == std::vector<std::uint32_t>{0});
}

TEST_CASE("kernel, host, kernel gives three parts in order") {
  for (const auto mode : {kExact, kFewest}) {
    const auto result = split({1, 0, 1}, {{0, 1}, {1, 2}}, mode);
    REQUIRE(result.part_of == std::vector<std::uint32_t>{0, 1, 2});
    REQUIRE(result.parts[0].native);
    REQUIRE_FALSE(result.parts[1].native);
    REQUIRE(result.parts[2].waits == std::vector<std::uint32_t>{1});
    REQUIRE(result.tails == std::vector<std::uint32_t>{2});
  }
}

TEST_CASE("a dependency within a part and one on an earlier part are both kept") {
  // H → A, H → B, A → B
  const auto result = split({0, 1, 1}, {{0, 1}, {0, 2}, {1, 2}}, kExact);
  REQUIRE(result.part_of == std::vector<std::uint32_t>{0, 1, 1});
  REQUIRE(result.parts[1].nodes == std::vector<NodeIndex>{1, 2});
  REQUIRE(result.parts[1].waits == std::vector<std::uint32_t>{0});
}

TEST_CASE("a node unrelated to any host node") {
  // A → {B, H}: B neither runs before A nor delays H.
  const auto exact = split({1, 1, 0}, {{0, 1}, {0, 2}}, kExact);
  REQUIRE(exact.parts.size() == 3);
  REQUIRE(exact.parts[exact.part_of[1]].waits == std::vector<std::uint32_t>{exact.part_of[0]});
  REQUIRE(exact.parts[exact.part_of[2]].waits == std::vector<std::uint32_t>{exact.part_of[0]});
  REQUIRE(exact.tails.size() == 2);
  const auto fewest = split({1, 1, 0}, {{0, 1}, {0, 2}}, kFewest);
  REQUIRE(fewest.part_of == std::vector<std::uint32_t>{0, 0, 1});
}

TEST_CASE("dependencies are not collected from roots only") {
  // K0 → K3, H → K2 → K3
  const auto exact = split({1, 0, 1, 1}, {{0, 3}, {1, 2}, {2, 3}}, kExact);
  REQUIRE(exact.part_of[2] == exact.part_of[3]);
  REQUIRE(exact.part_of[0] != exact.part_of[3]);
  const auto waits = exact.parts[exact.part_of[3]].waits;
  REQUIRE(std::set<std::uint32_t>(waits.begin(), waits.end()) ==
          std::set<std::uint32_t>{exact.part_of[0], exact.part_of[1]});
}

TEST_CASE("a slow host call in one branch does not delay the other") {
  // K0 → H → K1 and K2 → K3: independent
  const auto result = split({1, 0, 1, 1, 1}, {{0, 1}, {1, 2}, {3, 4}}, kExact);
  REQUIRE(result.parts.size() == 4);
  REQUIRE(result.parts[result.part_of[3]].waits.empty());
  REQUIRE(result.tails.size() == 2);
}

TEST_CASE("a wait for an outside event delays only what depends on it") {
  for (const auto mode : {kExact, kFewest}) {
    // 0 → 1 → 2 in order, 1 waits outside: 0 must run without it.
    const auto result = split({1, 1, 1}, {{0, 1}, {1, 2}}, mode, {{}, {0}, {}});
    REQUIRE(result.part_of == std::vector<std::uint32_t>{0, 1, 1});
    // All wait for one event, in order or not; the last one for another one, too.
    REQUIRE(split({1, 1, 1}, {{0, 1}, {1, 2}}, mode, {{0}, {0}, {0}}).parts.size() == 1);
    REQUIRE(split({1, 1, 1}, {}, mode, {{0}, {0}, {0}}).parts.size() == 1);
    REQUIRE(split({1, 1, 1}, {}, mode, {{0}, {0}, {0, 1}}).part_of == std::vector<std::uint32_t>{0, 0, 1});
    // Who waits for something itself does not make others wait for it that wait for the same event.
    REQUIRE(split({1, 1, 1}, {{0, 1}}, mode, {{1}, {0}, {0}}).part_of == std::vector<std::uint32_t>{0, 1, 2});
  }
}

TEST_CASE("equal to the optimum on random graphs, one group") {
  std::mt19937 random(7);
  for (const auto mode : {kExact, kFewest}) {
    for (int round = 0; round < 150; ++round) {
      const auto graph = random_graph(random, round % 10 == 0 ? 10 : 8, 1, false);
      const auto result = split(graph.groups, graph.edges, mode);
      check_valid(graph.groups, graph.edges, {}, mode, result);
      REQUIRE(result.parts.size() == brute_force(graph.groups, graph.edges, {}, mode));
    }
  }
}

TEST_CASE("equal to the optimum with waits for outside events") {
  std::mt19937 random(8);
  for (const auto mode : {kExact, kFewest}) {
    for (int round = 0; round < 150; ++round) {
      const auto graph = random_graph(random, 8, 1, true);
      const auto result = split(graph.groups, graph.edges, mode, graph.outside);
      check_valid(graph.groups, graph.edges, graph.outside, mode, result);
      REQUIRE(result.parts.size() == brute_force(graph.groups, graph.edges, graph.outside, mode));
    }
  }
}

TEST_CASE("valid and close to the optimum with several groups") {
  std::mt19937 random(9);
  for (const auto mode : {kExact, kFewest}) {
    std::size_t sum = 0;
    std::size_t optimum = 0;
    for (int round = 0; round < 150; ++round) {
      const auto graph = random_graph(random, 8, 3, round % 2 == 0);
      const auto result = split(graph.groups, graph.edges, mode, graph.outside);
      check_valid(graph.groups, graph.edges, graph.outside, mode, result);
      sum += result.parts.size();
      optimum += brute_force(graph.groups, graph.edges, graph.outside, mode);
    }
    CHECK(static_cast<double>(sum) < 1.03 * static_cast<double>(optimum));
  }
}

TEST_CASE("large random graphs stay valid") {
  std::mt19937 random(10);
  for (int round = 0; round < 60; ++round) {
    const auto graph = random_graph(random, 60, static_cast<unsigned>(1 + random() % 6), round % 2 == 0);
    for (const auto mode : {kExact, kFewest}) {
      check_valid(graph.groups, graph.edges, graph.outside, mode,
                  split(graph.groups, graph.edges, mode, graph.outside));
    }
  }
}

TEST_CASE("two queues that exchange data every step need one part per turn") {
  Groups groups;
  Edges edges;
  for (NodeIndex node = 0; node < 20; ++node) {
    groups.push_back(1 + node % 2);
    if (node > 0) {
      edges.emplace_back(node - 1, node);
    }
  }
  REQUIRE(split(groups, edges, kExact).parts.size() == 20);
  // Independent queues: one part each.
  Edges apart;
  for (NodeIndex node = 2; node < 20; ++node) {
    apart.emplace_back(node - 2, node);
  }
  REQUIRE(split(groups, apart, kExact).parts.size() == 2);
  REQUIRE(split(groups, apart, kFewest).parts.size() == 2);
}

namespace {
double milliseconds(const std::function<void()>& what) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    what();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlow = 20;
#else
constexpr double kSlow = 4;  // other programs use this machine
#endif
}  // namespace

TEST_CASE("no exponential walk over stacked diamonds") {
  Groups groups{1};
  Edges edges;
  NodeIndex top = 0;
  for (int diamond = 0; diamond < 2000; ++diamond) {
    groups.insert(groups.end(), {diamond % 50 == 0 ? 0U : 1U, 1U, 1U});
    edges.insert(edges.end(), {{top, top + 1}, {top, top + 2}, {top + 1, top + 3}, {top + 2, top + 3}});
    top += 3;
  }
  const auto graph = make_graph(groups.size(), edges);
  for (const auto mode : {kExact, kFewest}) {
    const double time = milliseconds([&] { (void)replay::partition(graph, groups, {}, mode); });
    CHECK(time < 10 * kSlow);
  }
}

TEST_CASE("large chains take milliseconds") {
  constexpr std::size_t kNodes = 100'000;
  Edges edges;
  for (NodeIndex node = 1; node < kNodes; ++node) {
    edges.emplace_back(node - 1, node);
  }
  const auto graph = make_graph(kNodes, edges);
  Groups groups(kNodes, 1);
  Outside outside;
  const auto run = [&](const char* what, double limit_ms) {
    for (const auto mode : {kExact, kFewest}) {
      const double time = milliseconds([&] { (void)replay::partition(graph, groups, outside, mode); });
      INFO(what << ", mode " << static_cast<int>(mode) << ": " << time << " ms");
      CHECK(time < limit_ms * kSlow);
    }
  };
  run("all recordable", 30);
  for (std::size_t node = 0; node < kNodes; node += 2) {
    groups[node] = 0;
  }
  run("every other node a host node", 100);
  groups.assign(kNodes, 1);
  outside.resize(kNodes);
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    outside[node] = {node};
  }
  run("every node waits outside", 500);
  outside.assign(kNodes, {0, 1});
  run("all nodes wait for the same events", 500);
}
