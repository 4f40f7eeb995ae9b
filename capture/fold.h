// A graph as people can look at it: what repeats in it stands once, with how often it comes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/analysis.h"
#include "capture/graph.h"

namespace refrain::capture {

/// A node, or a loop, so many times in a row.
struct FoldedItem {
  NodeIndex node = 0;            ///< the first of those that it stands for
  std::uint32_t times = 1;       ///< in a row
  std::vector<FoldedItem> body;  ///< of a loop; empty: a node
};

/// All edges that look alike, from what stands for their beginning to what stands for their end.
struct FoldedEdge {
  NodeIndex from = 0;
  NodeIndex to = 0;
  EdgeReason reason = EdgeReason::kQueueOrder;
  bool next_turn = false;   ///< leads from one turn of a loop to a later one
  std::uint32_t times = 1;  ///< edges that it stands for
};

struct FoldedGraph {
  std::vector<FoldedItem> items;      ///< in the order of submission
  std::vector<NodeIndex> stands_for;  ///< for each node of the graph: the node that is shown for it
  std::vector<std::uint32_t>
      together;                   ///< for each node: how many it is shown for, itself included; 0: it is not shown
  std::vector<FoldedEdge> edges;  ///< sorted by (from, to)
};

/// `looks`: a number for each node, equal for nodes that are drawn alike. Loops are found whose turns look alike and
/// hang together in the same way, within each other up to a few deep.
FoldedGraph fold(const Graph& graph, std::span<const std::uint64_t> looks);

/// The looks of nodes by what people are shown: label, queue, and whether a command buffer can hold them.
std::vector<std::uint64_t> looks_of(const Capture& capture, const Graph& graph);

/// How often each node's arguments, numbers or queue changed from one occurrence to the next: the largest of them.
std::vector<std::uint64_t> changes_of(const Graph& graph, std::span<const SlotStatistic> statistics);

}  // namespace refrain::capture
