#include "replay/graph/partition.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <ranges>
#include <utility>

#include "replay/graph/ancestor_sets.h"

namespace refrain::replay {
namespace {

using capture::Graph;
using capture::NodeIndex;

// Three steps, each of which keeps the order of parts free of cycles:
//  1. Classes: nodes that may share a part as far as waits are concerned. What counts are host nodes, waits from
//     outside, and crossings: edges from one group to another. Nodes of one class come after the same of them, and
//     before the same. So all of a part comes after whatever it waits for, and before whatever waits for it. Along an
//     edge the first set can only grow and the second one only shrink, so paths never return to a class.
//  2. Turns: within a class, nodes are taken in turns, a turn being everything of one group that is ready,
//     or one host node. Turns follow one another, so they cannot form a cycle either.
//  3. Parts: the turns, numbered in the order of submission where dependencies leave a choice.
class Partitioner {
 public:
  Partitioner(const Graph& graph, std::span<const PartGroup> groups, std::span<const OutsideEvents> waits_outside,
              PartitionMode mode, BetweenGroups between)
      : graph_(graph),
        groups_(groups),
        outside_(waits_outside),
        exact_(mode == PartitionMode::kNoFalseWait),
        edges_divide_(exact_ && between == BetweenGroups::kPartsWait) {}

  Partitioning run() {
    const std::size_t nodes = graph_.size();
    turn_of_.assign(nodes, 0);
    if (!classify()) {  // too tangled: single nodes are always right
      std::iota(turn_of_.begin(), turn_of_.end(), 0U);
      turns_ = static_cast<std::uint32_t>(nodes);
      return number_parts();
    }
    take_turns();
    return number_parts();
  }

 private:
  [[nodiscard]] bool is_host(NodeIndex node) const { return groups_[node] == 0; }
  [[nodiscard]] std::span<const std::uint32_t> events_of(NodeIndex node) const {
    return outside_.empty() || is_host(node) ? std::span<const std::uint32_t>() : outside_[node];
  }
  /// For an event that nobody else waits for.
  [[nodiscard]] bool waits_alone(NodeIndex node) const {
    return std::ranges::any_of(events_of(node), [&](std::uint32_t event) { return waiters_[event] == 1; });
  }
  void count_waiters() {
    for (NodeIndex node = 0; node < graph_.size(); ++node) {
      for (const std::uint32_t event : events_of(node)) {
        waiters_.resize(std::max<std::size_t>(waiters_.size(), event + 1));
        ++waiters_[event];
      }
    }
  }
  [[nodiscard]] bool is_crossing(NodeIndex from, NodeIndex to) const {
    return edges_divide_ && groups_[from] != groups_[to] && !is_host(from) && !is_host(to);
  }
  [[nodiscard]] bool counts(NodeIndex node) const {
    return (exact_ && is_host(node)) || waits_alone(node) ||
           std::ranges::any_of(graph_.predecessors(node), [&](NodeIndex from) { return is_crossing(from, node); }) ||
           std::ranges::any_of(graph_.successors(node), [&](NodeIndex to) { return is_crossing(node, to); });
  }

  // Gives each node its class. False if that would take too long.
  bool classify() {
    const auto nodes = static_cast<NodeIndex>(graph_.size());
    count_waiters();
    // An event that several wait for comes before all of them, and after nothing: it is a member of its own. One that a
    // single node waits for can only come before what that node comes before, so the node stands for it.
    Chains chains(nodes + waiters_.size());
    for (std::uint32_t event = 0; event < waiters_.size(); ++event) {
      chains.visit(nodes + event, std::span<const NodeIndex>(), waiters_[event] > 1);
    }
    for (NodeIndex node = 0; node < nodes; ++node) {
      chains.visit(node, graph_.predecessors(node), counts(node));
    }
    class_of_.assign(nodes, 0);
    if (chains.count() == 0) {
      classes_ = nodes != 0 ? 1 : 0;
      return true;
    }

    AncestorSets sets(chains.count());
    std::vector<AncestorSets::Id> before(nodes), after(nodes);
    for (NodeIndex node = 0; node < nodes; ++node) {
      AncestorSets::Id set = AncestorSets::kEmpty;
      const auto come_after = [&](NodeIndex member) {
        set = sets.add(set, chains.chain_of(member), chains.position_of(member));
      };
      for (const NodeIndex pred : graph_.predecessors(node)) {
        set = sets.join(set, before[pred]);
        if (is_crossing(pred, node)) {
          come_after(pred);
        }
      }
      for (const std::uint32_t event : events_of(node)) {
        if (waiters_[event] > 1) {
          come_after(nodes + event);
        }
      }
      if (waits_alone(node) || (exact_ && is_host(node))) {
        come_after(node);
      }
      before[node] = set;
    }
    for (NodeIndex node = nodes; node-- > 0;) {  // positions counted from the chains' ends
      AncestorSets::Id set = AncestorSets::kEmpty;
      const auto come_before = [&](NodeIndex member) {
        const std::uint32_t chain = chains.chain_of(member);
        set = sets.add(set, chain, chains.length_of(chain) + 1 - chains.position_of(member));
      };
      for (const NodeIndex succ : graph_.successors(node)) {
        set = sets.join(set, after[succ]);
        if (is_crossing(node, succ)) {
          come_before(succ);
        }
      }
      if (exact_ && is_host(node)) {
        come_before(node);
      }
      after[node] = set;
    }
    if (sets.exhausted()) {
      return false;
    }
    // Equal pairs of sets get equal numbers. (A host node is in its own sets, so it is alone.)
    std::vector<NodeIndex> order(nodes);
    std::iota(order.begin(), order.end(), NodeIndex{0});
    const auto key = [&](NodeIndex node) { return std::pair(before[node], after[node]); };
    std::ranges::stable_sort(order, {}, key);
    for (NodeIndex i = 0; i < nodes; ++i) {
      classes_ += i == 0 || key(order[i]) != key(order[i - 1]) ? 1 : 0;
      class_of_[order[i]] = classes_ - 1;
    }
    return true;
  }

  void take_turns() {
    const auto nodes = static_cast<NodeIndex>(graph_.size());
    std::vector<NodeIndex> members(nodes);
    std::vector<std::uint32_t> start(classes_ + 1);
    for (const std::uint32_t number : class_of_) {
      ++start[number + 1];
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<std::uint32_t> fill(start.begin(), start.end() - 1);
    for (NodeIndex node = 0; node < nodes; ++node) {
      members[fill[class_of_[node]]++] = node;
    }
    missing_.resize(nodes);
    slot_.resize(nodes);
    for (std::uint32_t number = 0; number < classes_; ++number) {
      split_class({members.data() + start[number], start[number + 1] - start[number]});
    }
  }

  // Members are in the order of their numbers.
  void split_class(std::span<const NodeIndex> members) {
    std::vector<PartGroup> kinds;
    bool hosts = false;
    for (const NodeIndex node : members) {
      if (is_host(node)) {
        hosts = true;
        slot_[node] = kHostSlot;
        continue;
      }
      auto place = std::ranges::find(kinds, groups_[node]);
      if (place == kinds.end()) {
        kinds.push_back(groups_[node]);
        place = kinds.end() - 1;
      }
      slot_[node] = static_cast<std::uint32_t>(place - kinds.begin());
    }
    if (!hosts && kinds.size() == 1) {
      for (const NodeIndex node : members) {
        turn_of_[node] = turns_;
      }
      ++turns_;
      return;
    }
    std::vector<std::uint32_t> order(kinds.size());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<std::uint32_t> best = order;
    if (kinds.size() > 1) {
      std::uint32_t fewest = turns(members, order, false);
      const bool try_all = kinds.size() <= 4 && members.size() <= 20'000;
      const auto next_order = [&] {
        if (try_all) {
          return std::ranges::next_permutation(order).found;
        }
        std::ranges::reverse(order);
        return order.front() != 0;
      };
      while (next_order()) {
        if (const std::uint32_t count = turns(members, order, false); count < fewest) {
          fewest = count;
          best = order;
        }
      }
    }
    turns_ += turns(members, best, true);
  }

  // Groups take turns in `order`; host nodes run as soon as they are ready. Returns the number of turns.
  std::uint32_t turns(std::span<const NodeIndex> members, const std::vector<std::uint32_t>& order, bool keep) {
    const std::uint32_t number = class_of_[members[0]];
    ready_.assign(order.size(), {});
    host_ready_.clear();
    const auto make_ready = [&](NodeIndex node) {
      (slot_[node] == kHostSlot ? host_ready_ : ready_[slot_[node]]).push_back(node);
    };
    for (const NodeIndex node : members) {
      missing_[node] = static_cast<std::uint32_t>(std::ranges::count_if(
          graph_.predecessors(node), [&](NodeIndex before) { return class_of_[before] == number; }));
    }
    for (const NodeIndex node : members) {
      if (missing_[node] == 0) {
        make_ready(node);
      }
    }
    std::uint32_t turn = 0;
    const auto take = [&](std::vector<NodeIndex>& list) {
      const NodeIndex node = list.back();
      list.pop_back();
      if (keep) {
        turn_of_[node] = turns_ + turn;
      }
      for (const NodeIndex after : graph_.successors(node)) {
        if (class_of_[after] == number && --missing_[after] == 0) {
          make_ready(after);
        }
      }
    };
    for (bool progress = true; progress;) {
      progress = false;
      for (const std::uint32_t slot : order) {
        while (!host_ready_.empty()) {
          take(host_ready_);
          ++turn;
          progress = true;
        }
        if (!ready_[slot].empty()) {
          while (!ready_[slot].empty()) {
            take(ready_[slot]);
          }
          ++turn;
          progress = true;
        }
      }
      if (order.empty()) {  // host nodes only
        while (!host_ready_.empty()) {
          take(host_ready_);
          ++turn;
        }
      }
    }
    return turn;
  }

  Partitioning number_parts() {
    const auto nodes = static_cast<NodeIndex>(graph_.size());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  // (to, from)
    for (const capture::Edge& edge : graph_.edges()) {
      if (turn_of_[edge.from] != turn_of_[edge.to]) {
        edges.emplace_back(turn_of_[edge.to], turn_of_[edge.from]);
      }
    }
    sort_unique(edges);

    // The turn with the oldest first node goes first among those that are ready.
    std::vector<NodeIndex> first(turns_, nodes);
    for (NodeIndex node = nodes; node-- > 0;) {
      first[turn_of_[node]] = node;
    }
    std::vector<std::uint32_t> missing(turns_), out_start(turns_ + 1), out(edges.size());
    for (const auto& [to, from] : edges) {
      ++missing[to];
      ++out_start[from + 1];
    }
    std::partial_sum(out_start.begin(), out_start.end(), out_start.begin());
    std::vector<std::uint32_t> fill(out_start.begin(), out_start.end() - 1);
    for (const auto& [to, from] : edges) {
      out[fill[from]++] = to;
    }
    std::priority_queue<NodeIndex, std::vector<NodeIndex>, std::greater<>> ready;
    for (std::uint32_t turn = 0; turn < turns_; ++turn) {
      if (missing[turn] == 0) {
        ready.push(first[turn]);
      }
    }
    std::vector<std::uint32_t> number(turns_);
    for (std::uint32_t next = 0; !ready.empty(); ++next) {
      const std::uint32_t turn = turn_of_[ready.top()];
      ready.pop();
      number[turn] = next;
      for (std::uint32_t i = out_start[turn]; i < out_start[turn + 1]; ++i) {
        if (--missing[out[i]] == 0) {
          ready.push(first[out[i]]);
        }
      }
    }

    Partitioning result;
    result.parts.resize(turns_);
    result.part_of.resize(nodes);
    for (NodeIndex node = 0; node < nodes; ++node) {
      const std::uint32_t part = number[turn_of_[node]];
      result.part_of[node] = part;
      result.parts[part].nodes.push_back(node);
      result.parts[part].group = groups_[node];
      result.parts[part].native = !is_host(node);
    }
    for (auto& [to, from] : edges) {
      to = number[to];
      from = number[from];
    }
    std::ranges::sort(edges);
    for (const auto& [to, from] : edges) {
      result.parts[to].waits.push_back(from);
    }
    reduce_waits(result.parts);
    std::vector<bool> waited_for(turns_);
    for (const Part& part : result.parts) {
      for (const std::uint32_t wait : part.waits) {
        waited_for[wait] = true;
      }
    }
    for (std::uint32_t part = 0; part < turns_; ++part) {
      if (!waited_for[part]) {
        result.tails.push_back(part);
      }
    }
    return result;
  }

  static void sort_unique(std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
    std::ranges::sort(edges);
    // std::ranges::unique with GCC 12's library does not compile with clang 14, which clang-tidy is made of.
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  }

  // Drops waits that follow from others.
  static void reduce_waits(std::vector<Part>& parts) {
    if (std::ranges::all_of(parts, [](const Part& part) { return part.waits.size() < 2; })) {
      return;
    }
    Chains chains(parts.size());
    for (std::uint32_t part = 0; part < parts.size(); ++part) {
      chains.visit(part, parts[part].waits, true);
    }
    AncestorSets sets(chains.count());
    std::vector<AncestorSets::Id> with_self(parts.size()), strict(parts.size());
    for (std::uint32_t part = 0; part < parts.size(); ++part) {
      auto& waits = parts[part].waits;
      AncestorSets::Id set = AncestorSets::kEmpty;
      AncestorSets::Id behind = AncestorSets::kEmpty;  // what the parts waited for wait for themselves
      for (const std::uint32_t wait : waits) {
        set = sets.join(set, with_self[wait]);
        if (waits.size() > 1) {
          behind = sets.join(behind, strict[wait]);
        }
      }
      strict[part] = set;
      with_self[part] = sets.add(set, chains.chain_of(part), chains.position_of(part));
      if (sets.exhausted()) {
        return;  // the rest keeps waits it could do without
      }
      if (waits.size() > 1) {
        std::erase_if(waits, [&](std::uint32_t wait) {
          return sets.reach(behind, chains.chain_of(wait)) >= chains.position_of(wait);
        });
      }
    }
  }

  static constexpr std::uint32_t kHostSlot = ~std::uint32_t{0};  // format

  const Graph& graph_;
  std::span<const PartGroup> groups_;
  std::span<const OutsideEvents> outside_;
  bool exact_;
  bool edges_divide_;
  std::vector<std::uint32_t> waiters_;  // per event from outside
  std::vector<std::uint32_t> class_of_;
  std::uint32_t classes_ = 0;
  std::vector<std::uint32_t> turn_of_;  // per node, over all classes
  std::uint32_t turns_ = 0;
  // For split_class(): per node, valid for the members of the class at hand.
  std::vector<std::uint32_t> missing_, slot_;
  std::vector<std::vector<NodeIndex>> ready_;
  std::vector<NodeIndex> host_ready_;
};

}  // namespace

Partitioning partition(const Graph& graph, std::span<const PartGroup> groups,
                       std::span<const OutsideEvents> waits_outside, PartitionMode mode, BetweenGroups between) {
  return Partitioner(graph, groups, waits_outside, mode, between).run();
}

}  // namespace refrain::replay
