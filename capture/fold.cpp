#include "capture/fold.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace refrain::capture {
namespace {

constexpr unsigned kDeepest = 6;  // loops within loops

class Folder {
 public:
  Folder(const Graph& graph, std::span<const std::uint64_t> looks) : looks_(looks), edges_(graph.edges()) {
    const std::size_t nodes = graph.size();
    edge_start_.assign(nodes + 1, edges_.size());
    for (std::size_t edge = edges_.size(); edge-- > 0;) edge_start_[edges_[edge].to] = edge;
    for (std::size_t node = nodes; node-- > 0;) edge_start_[node] = std::min(edge_start_[node], edge_start_[node + 1]);
    result_.stands_for.resize(nodes);
    std::iota(result_.stands_for.begin(), result_.stands_for.end(), 0);
    turns_.resize(nodes);
  }

  FoldedGraph run() {
    result_.items = range(0, static_cast<NodeIndex>(looks_.size()), 0);
    result_.together.assign(looks_.size(), 0);
    for (const NodeIndex shown : result_.stands_for) ++result_.together[shown];
    fold_edges();
    return std::move(result_);
  }

 private:
  struct Turn {
    std::uint32_t loop = 0;
    std::uint32_t number = 0;
    friend bool operator==(const Turn&, const Turn&) = default;
  };
  struct Loop {
    NodeIndex length = 0;  // of a turn
    std::uint32_t times = 1;
    [[nodiscard]] NodeIndex saved() const noexcept { return (times - 1) * length; }
  };

  [[nodiscard]] std::span<const Edge> edges_to(NodeIndex node) const {
    return edges_.subspan(edge_start_[node], edge_start_[node + 1] - edge_start_[node]);
  }

  /// Whether `node` is to its turn what the node `length` before it is to its own, in a loop that begins at `start`.
  /// What leads into the first turn from outside has nothing that it could be compared with.
  [[nodiscard]] bool alike(NodeIndex node, NodeIndex length, NodeIndex start) const {
    const NodeIndex before = node - length;
    if (looks_[node] != looks_[before]) return false;
    const bool second_turn = before < start + length;
    auto mine = edges_to(node);
    auto its = edges_to(before);
    if (second_turn) {
      while (!its.empty() && its.front().from < start) its = its.subspan(1);
      while (!mine.empty() && mine.front().from < start + length) mine = mine.subspan(1);
    }
    return std::ranges::equal(mine, its, [length](const Edge& a, const Edge& b) {
      return a.from == b.from + length && a.reason == b.reason;
    });
  }

  /// The loop at `start` that saves most.
  [[nodiscard]] Loop loop_at(NodeIndex start, NodeIndex end) const {
    Loop best;
    for (NodeIndex length = 1; length <= (end - start) / 2 && best.saved() < end - start - length; ++length) {
      if (looks_[start] != looks_[start + length]) continue;
      NodeIndex node = start + length;
      while (node < end && alike(node, length, start)) ++node;
      const Loop loop{length, (node - start) / length};
      if (loop.saved() > best.saved()) best = loop;
    }
    return best;
  }

  std::vector<FoldedItem> range(NodeIndex start, NodeIndex end, unsigned depth) {
    std::vector<FoldedItem> items;
    while (start < end) {
      const Loop loop = depth < kDeepest ? loop_at(start, end) : Loop();
      FoldedItem& item = items.emplace_back();
      item.node = start;
      if (loop.times < 2) {
        ++start;
        continue;
      }
      item.times = loop.times;
      const std::uint32_t number = ++loops_;
      for (NodeIndex i = 0; i < loop.length * loop.times; ++i) turns_[start + i].push_back({number, i / loop.length});
      if (loop.length > 1) item.body = range(start, start + loop.length, depth + 1);
      // The other turns are as the first one, which was divided further.
      for (NodeIndex i = loop.length; i < loop.length * loop.times; ++i) {
        const NodeIndex first = start + i % loop.length;
        result_.stands_for[start + i] = result_.stands_for[first];
        if (turns_[first].size() > turns_[start + i].size()) {
          turns_[start + i].insert(turns_[start + i].end(),
                                   turns_[first].begin() + static_cast<std::ptrdiff_t>(turns_[start + i].size()),
                                   turns_[first].end());
        }
      }
      start += loop.length * loop.times;
    }
    return items;
  }

  /// The first loop that both are in, but in different turns, decides; in what is behind another turn, numbers say
  /// nothing.
  [[nodiscard]] bool other_turn(NodeIndex from, NodeIndex to) const {
    for (std::size_t i = 0; i < std::min(turns_[from].size(), turns_[to].size()); ++i) {
      if (turns_[from][i].loop != turns_[to][i].loop) return false;
      if (turns_[from][i].number != turns_[to][i].number) return true;
    }
    return false;
  }

  void fold_edges() {
    std::map<std::tuple<NodeIndex, NodeIndex, EdgeReason, bool>, std::uint32_t> counts;
    for (const Edge& edge : edges_) {
      ++counts[{result_.stands_for[edge.from], result_.stands_for[edge.to], edge.reason,
                other_turn(edge.from, edge.to)}];
    }
    for (const auto& [key, times] : counts) {
      const auto& [from, to, reason, next_turn] = key;
      result_.edges.push_back({from, to, reason, next_turn, times});
    }
  }

  std::span<const std::uint64_t> looks_;
  std::span<const Edge> edges_;  // sorted by (to, from)
  std::vector<std::size_t> edge_start_;
  std::vector<std::vector<Turn>> turns_;  // of each node, outermost loop first
  std::uint32_t loops_ = 0;
  FoldedGraph result_;
};

}  // namespace

FoldedGraph fold(const Graph& graph, std::span<const std::uint64_t> looks) {
  return Folder(graph, looks).run();
}

std::vector<std::uint64_t> looks_of(const Capture& capture, const Graph& graph) {
  std::map<std::tuple<std::string, ObjectId, bool>, std::uint64_t> known;
  std::vector<std::uint64_t> looks;
  looks.reserve(graph.size());
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    const OperationView operation = graph.operation(node);
    looks.push_back(known
                        .try_emplace({label_of(capture, operation), graph.queue_of(node).id,
                                      why_not_recordable(capture, graph, node) == nullptr},
                                     known.size())
                        .first->second);
  }
  return looks;
}

std::vector<std::uint64_t> changes_of(const Graph& graph, std::span<const SlotStatistic> statistics) {
  std::vector<std::uint64_t> changes(graph.size());
  for (const SlotStatistic& slot : statistics) {
    if (slot.kind != format::SlotKind::kQueue && slot.node < changes.size()) {
      changes[slot.node] = std::max(changes[slot.node], slot.changes);
    }
  }
  return changes;
}

}  // namespace refrain::capture
